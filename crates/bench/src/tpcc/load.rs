//! The population: all rows that the tables have before the first transaction.
//!
//! Must always hold: it is consistent by the specification's conditions, and depends on nothing but its scale.

use std::fmt::Write as _;
use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::{Cancel, LocalError};

use super::data::{BAD, GOOD, address, data, last_name, money, tax};
use super::random::Random;
use super::{DISTRICTS, Scale, WAREHOUSES, schema};
use crate::error::BenchError;

/// Bytes of a statement from which it is sent.
const STATEMENT_BYTES: usize = 128 * 1024;
/// What a warehouse's districts and customers have paid at first, in whole units.
const YTD_OF_DISTRICT: u32 = 30_000;

/// Rows on their way into a table.
struct Rows<'a> {
    connection: &'a mut Conn,
    cancel: &'a Cancel,
    table: &'static str,
    text: String,
}

/// Why the population could not be made.
#[derive(Debug)]
enum Failure {
    Sql(mysql::Error),
    Cancelled,
}

impl From<mysql::Error> for Failure {
    fn from(error: mysql::Error) -> Self {
        Self::Sql(error)
    }
}

impl<'a> Rows<'a> {
    fn of(table: &'static str, connection: &'a mut Conn, cancel: &'a Cancel) -> Self {
        Self { connection, cancel, table, text: String::new() }
    }

    /// Adds a row; `values` is SQL.
    fn add(&mut self, values: std::fmt::Arguments<'_>) -> Result<(), Failure> {
        if self.text.is_empty() {
            let _never_fails = write!(self.text, "INSERT INTO {} VALUES ", self.table);
        } else {
            self.text.push(',');
        }
        let _never_fails = write!(self.text, "({values})");
        if self.text.len() < STATEMENT_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.cancel.is_set() {
            return Err(Failure::Cancelled);
        }
        if !self.text.is_empty() {
            self.connection.query_drop(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// Makes the tables and all of their rows, a warehouse on each connection that `connect` makes.
pub(crate) fn populate(
    connect: impl Fn() -> Result<Conn, mysql::Error> + Sync,
    scale: Scale,
    is_sharded: bool,
    cancel: &Cancel,
) -> Result<(), BenchError> {
    let define = || -> Result<(), Failure> {
        let mut connection = connect()?;
        schema::definitions(is_sharded).iter().try_for_each(|definition| connection.query_drop(definition))?;
        items(&mut connection, scale, cancel)
    };
    let of_warehouse = |number: u32| -> Result<(), Failure> {
        Warehouse { number, connection: &mut connect()?, random: Random::new(u64::from(number)), scale, cancel }.load()
    };
    let all = || -> Result<(), Failure> {
        define()?;
        thread::scope(|scope| {
            let threads: Vec<_> = (1..=WAREHOUSES).map(|number| scope.spawn(move || of_warehouse(number))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a thread of the population does not panic"))
        })
    };
    all().map_err(|failure| match failure {
        Failure::Cancelled => LocalError::Cancelled.into(),
        Failure::Sql(error) => {
            BenchError::Tool { tool: "the population of TPC-C".to_owned(), reason: error.to_string() }
        }
    })
}

fn items(connection: &mut Conn, scale: Scale, cancel: &Cancel) -> Result<(), Failure> {
    let random = &mut Random::new(0);
    let mut rows = Rows::of("item", connection, cancel);
    for item in 1..=scale.items {
        let (image, name) = (random.uniform(1, 10_000), random.letters(14, 24));
        let price = money(random.uniform(100, 10_000));
        rows.add(format_args!("{item},{image},'{name}',{price},'{}'", data(random)))?;
    }
    rows.send()
}

/// A warehouse whose rows are made.
struct Warehouse<'a> {
    number: u32,
    connection: &'a mut Conn,
    random: Random,
    scale: Scale,
    cancel: &'a Cancel,
}

impl Warehouse<'_> {
    fn load(mut self) -> Result<(), Failure> {
        let Self { number, connection, random, cancel, .. } = &mut self;
        let mut rows = Rows::of("warehouse", connection, cancel);
        let (name, address, tax_rate) = (random.letters(6, 10), address(random), tax(random));
        rows.add(format_args!("{number},'{name}',{address},{tax_rate},{}", YTD_OF_DISTRICT * DISTRICTS))?;
        rows.send()?;
        self.stock()?;
        (1..=DISTRICTS).try_for_each(|district| {
            self.district(district)?;
            self.customers(district)?;
            self.orders(district)
        })
    }

    fn stock(&mut self) -> Result<(), Failure> {
        let Self { number: warehouse, connection, random, scale, cancel } = self;
        let mut rows = Rows::of("stock", connection, cancel);
        for item in 1..=scale.items {
            let quantity = random.uniform(10, 100);
            let districts: Vec<String> = (0..DISTRICTS).map(|_| random.letters(24, 24)).collect();
            let (districts, data) = (districts.join("','"), data(random));
            rows.add(format_args!("{item},{warehouse},{quantity},'{districts}',0,0,0,'{data}'"))?;
        }
        rows.send()
    }

    fn district(&mut self, district: u32) -> Result<(), Failure> {
        let Self { number: warehouse, connection, random, scale, cancel } = self;
        let mut rows = Rows::of("district", connection, cancel);
        let (name, address, tax_rate) = (random.letters(6, 10), address(random), tax(random));
        let next = scale.customers() + 1;
        rows.add(format_args!("{district},{warehouse},'{name}',{address},{tax_rate},{YTD_OF_DISTRICT},{next}"))?;
        rows.send()
    }

    /// The customers of a district, and a payment of each.
    fn customers(&mut self, district: u32) -> Result<(), Failure> {
        let Self { number: warehouse, connection, random, scale, cancel } = self;
        let customers = scale.customers();
        // The district's sum is given: where there are fewer customers, each has paid more.
        let paid = YTD_OF_DISTRICT / customers;
        let rest = YTD_OF_DISTRICT % customers;
        let paid = |customer: u32| paid + if customer == 1 { rest } else { 0 };
        let mut rows = Rows::of("customer", connection, cancel);
        for customer in 1..=customers {
            let name = if customer <= 1_000 { customer - 1 } else { random.last_name_to_load(customers) };
            let (first, last, address) = (random.letters(8, 16), last_name(name), address(random));
            let (phone, credit) = (random.digits(16), if random.in_percent(10) { BAD } else { GOOD });
            let (discount, text, paid) = (random.uniform(0, 5_000), random.letters(300, 500), paid(customer));
            rows.add(format_args!(
                "{customer},{district},{warehouse},'{first}','OE','{last}',{address},'{phone}',NOW(),'{credit}',50000,\
                 0.{discount:04},-{paid},{paid},1,0,'{text}'"
            ))?;
        }
        rows.send()?;
        let mut rows = Rows::of("history", connection, cancel);
        for customer in 1..=customers {
            let (paid, text) = (paid(customer), random.letters(12, 24));
            rows.add(format_args!("{customer},{district},{warehouse},{district},{warehouse},NOW(),{paid},'{text}'"))?;
        }
        rows.send()
    }

    /// An order of each customer, of which the last are not delivered yet.
    fn orders(&mut self, district: u32) -> Result<(), Failure> {
        let Self { number: warehouse, connection, random, scale, cancel } = self;
        let customers = random.permutation(scale.customers());
        let lines: Vec<u32> = customers.iter().map(|_| random.uniform(5, 15)).collect();
        let is_delivered = |order: u32| order <= scale.delivered();
        let mut rows = Rows::of("orders", connection, cancel);
        for ((order, customer), lines) in (1..).zip(&customers).zip(&lines) {
            let carrier = if is_delivered(order) { random.uniform(1, 10).to_string() } else { "NULL".to_owned() };
            rows.add(format_args!("{order},{district},{warehouse},{customer},NOW(),{carrier},{lines},1"))?;
        }
        rows.send()?;
        let mut rows = Rows::of("new_order", connection, cancel);
        for order in scale.delivered() + 1..=scale.customers() {
            rows.add(format_args!("{order},{district},{warehouse}"))?;
        }
        rows.send()?;
        let mut rows = Rows::of("order_line", connection, cancel);
        for (order, lines) in (1..).zip(&lines) {
            for line in 1..=*lines {
                let (item, info) = (random.uniform(1, scale.items), random.letters(24, 24));
                let (delivered, amount) = match is_delivered(order) {
                    true => ("NOW()", 0),
                    false => ("NULL", random.uniform(1, 999_999)),
                };
                let amount = money(amount);
                rows.add(format_args!(
                    "{order},{district},{warehouse},{line},{item},{warehouse},{delivered},5,{amount},'{info}'"
                ))?;
            }
        }
        rows.send()
    }
}
