//! TPC-C: its tables and their population, its five transactions, and its conditions of consistency.
//!
//! Written from the specification's facts, with these differences, which others' kits have too: no keying and think times (a
//! terminal begins its next transaction at once), deliveries run when they are asked for, and the population may be smaller.
//! Figures are no results in the sense of TPC.
//!
//! Must always hold: all statements name the warehouse, by which tables are sharded; the lines of an order are written in
//! the order of warehouse and item, so that two orders can't wait for each other's stock.

mod check;
mod client;
mod data;
mod delivery;
mod load;
mod new_order;
mod payment;
mod random;
mod schema;
mod status;

pub(crate) use check::check;
pub(crate) use client::{Problem, Terminal};
pub(crate) use load::populate;

/// Warehouses.
pub(crate) const WAREHOUSES: u32 = 4;
/// Districts of a warehouse.
const DISTRICTS: u32 = 10;
/// Items of the full population.
pub(crate) const ITEMS: u32 = 100_000;
/// Customers of a district in the full population.
const CUSTOMERS: u32 = 3_000;
/// The fewest items of which a population can be made.
pub(crate) const LEAST_ITEMS: u32 = 100;

/// How large a population is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Items; the other tables shrink with them.
    pub(crate) items: u32,
}

impl Scale {
    /// Customers of a district, which is also the number of its first orders.
    fn customers(self) -> u32 {
        // Exact for the full population; below it no part of the mix may lack what it works on.
        let share = u64::from(self.items) * u64::from(CUSTOMERS) / u64::from(ITEMS);
        u32::try_from(share).unwrap_or(CUSTOMERS).max(30)
    }

    /// The first orders of a district that are delivered: the last 30% are not.
    fn delivered(self) -> u32 {
        self.customers() * 7 / 10
    }

    /// Rows of all tables, roughly.
    pub(crate) fn rows(self) -> u64 {
        let of_district = u64::from(self.customers()) * 14;
        u64::from(self.items) * u64::from(1 + WAREHOUSES) + u64::from(WAREHOUSES * DISTRICTS) * of_district
    }
}

/// The five types of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    /// Each with its share of the mix, in percent.
    const MIX: [(Self, u32); 5] =
        [(Self::NewOrder, 45), (Self::Payment, 43), (Self::OrderStatus, 4), (Self::Delivery, 4), (Self::StockLevel, 4)];

    /// Its name in records.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::NewOrder => NEW_ORDER,
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }

    /// The kind at a place among a hundred.
    fn at(place: u32) -> Self {
        let mut passed = 0;
        let found = Self::MIX.iter().find(|(_, share)| {
            passed += share;
            place < passed
        });
        found.map_or(Self::NewOrder, |(kind, _)| *kind)
    }
}

/// The name of the type whose number per minute is TPC-C's measure.
pub(crate) const NEW_ORDER: &str = "new_order";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_a_hundred_and_each_kind_has_its_share() {
        for (kind, share) in Kind::MIX {
            let places = (0..100).filter(|place| Kind::at(*place) == kind).count();
            assert_eq!(u32::try_from(places), Ok(share), "{kind:?}");
        }
    }

    #[test]
    fn a_population_is_the_full_one_or_a_part_of_it() {
        let full = Scale { items: ITEMS };
        assert_eq!((full.customers(), full.delivered()), (3_000, 2_100));
        let small = Scale { items: 10_000 };
        assert_eq!((small.customers(), small.delivered()), (300, 210));
        assert_eq!(Scale { items: LEAST_ITEMS }.customers(), 30);
    }
}
