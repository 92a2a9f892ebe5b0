//! Payment: a customer, now and then one of another warehouse, pays to a district.

use mysql::{Row, Value};

use super::client::{Problem, Session, Terminal, number};
use super::data::{BAD, last_name};

/// How much of what is noted about a customer of bad credit is kept.
const MOST_DATA: usize = 500;

/// Which customer of a district.
#[derive(Debug, Clone)]
pub(super) enum Who {
    Number(u32),
    /// The one in the middle of those with this last name.
    Name(String),
}

impl Who {
    /// By name in 60% of the cases.
    pub(super) fn choose(terminal: &mut Terminal) -> Self {
        let customers = terminal.scale.customers();
        if terminal.random.in_percent(60) {
            Self::Name(last_name(terminal.random.last_name(customers)))
        } else {
            Self::Number(terminal.random.customer(customers))
        }
    }

    /// The customer's number.
    pub(super) fn find(&self, session: &mut Session, warehouse: u32, district: u32) -> Result<i64, Problem> {
        let name = match self {
            Self::Number(customer) => return Ok(i64::from(*customer)),
            Self::Name(name) => name.as_str(),
        };
        let rows = session.rows(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
            &[warehouse.into(), district.into(), name.into()],
        )?;
        middle(&rows).map(|row| number(row, 0)).ok_or(Problem::Missing("customer by name"))
    }
}

/// Position n/2 of n, rounded up, counted from 1.
fn middle<T>(all: &[T]) -> Option<&T> {
    all.get(all.len().div_ceil(2).checked_sub(1)?)
}

pub(super) fn run(terminal: &mut Terminal) -> Result<(), Problem> {
    let (warehouse, district) = (terminal.home, terminal.district());
    let is_remote = terminal.random.in_percent(15);
    let (of_warehouse, of_district) =
        if is_remote { (terminal.other_warehouse(), terminal.district()) } else { (warehouse, district) };
    let who = Who::choose(terminal);
    let amount = f64::from(terminal.random.uniform(100, 500_000)) / 100.0;
    let session = &mut terminal.session;
    session.command("BEGIN")?;
    session.run("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", &[amount.into(), warehouse.into()])?;
    let of = session.row(
        "warehouse",
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
        &[warehouse.into()],
    )?;
    session.run(
        "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
        &[amount.into(), warehouse.into(), district.into()],
    )?;
    let at = session.row(
        "district",
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?",
        &[warehouse.into(), district.into()],
    )?;
    let customer = who.find(session, of_warehouse, of_district)?;
    pay(session, [of_warehouse.into(), of_district.into(), customer.into()], (warehouse, district), amount)?;
    let text = |row: &Row| row.get::<String, _>(0).unwrap_or_default();
    session.run(
        "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        &[
            of_district.into(),
            of_warehouse.into(),
            customer.into(),
            district.into(),
            warehouse.into(),
            amount.into(),
            format!("{}    {}", text(&of), text(&at)).into(),
        ],
    )?;
    session.command("COMMIT")
}

/// Takes the amount from the customer's balance; of one with bad credit it is noted.
fn pay(session: &mut Session, customer: [Value; 3], at: (u32, u32), amount: f64) -> Result<(), Problem> {
    let [warehouse, district, id] = customer.clone();
    let row = session.row(
        "customer",
        "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, \
         c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
        &customer,
    )?;
    if row.get::<String, _>(9).as_deref() != Some(BAD) {
        return session.run(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
             c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            &[amount.into(), amount.into(), warehouse, district, id],
        );
    }
    let query = "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    let noted: String = session.row("customer", query, &customer)?.get(0).unwrap_or_default();
    let ids = customer.iter().rev().map(|value| value.as_sql(true)).collect::<Vec<_>>().join(" ");
    let noted: String = format!("{ids} {} {} {amount} {noted}", at.1, at.0).chars().take(MOST_DATA).collect();
    session.run(
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[amount.into(), amount.into(), noted.into(), warehouse, district, id],
    )
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_middle_is_rounded_up() {
        assert_eq!(middle(&[1, 2, 3]), Some(&2));
        assert_eq!(middle(&[1, 2, 3, 4]), Some(&2));
        assert_eq!((middle(&[1]), middle::<u8>(&[])), (Some(&1), None));
    }
}
