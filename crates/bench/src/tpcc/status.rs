//! The two transactions that only read: Order-Status and Stock-Level.

use mysql::Value;

use super::client::{Problem, Terminal, number};
use super::payment::Who;

/// The orders of which Stock-Level looks at the items.
const LAST_ORDERS: i64 = 20;

/// The last order of a customer, with its lines.
pub(super) fn order_status(terminal: &mut Terminal) -> Result<(), Problem> {
    let (warehouse, district) = (terminal.home, terminal.district());
    let who = Who::choose(terminal);
    let session = &mut terminal.session;
    session.command("BEGIN")?;
    let customer = who.find(session, warehouse, district)?;
    let of_customer: [Value; 3] = [warehouse.into(), district.into(), customer.into()];
    session.row(
        "customer",
        "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &of_customer,
    )?;
    let orders = session.rows(
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
         ORDER BY o_id DESC LIMIT 1",
        &of_customer,
    )?;
    if let Some(order) = orders.first().map(|row| number(row, 0)) {
        session.rows(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            &[warehouse.into(), district.into(), order.into()],
        )?;
    }
    session.command("COMMIT")
}

/// How many items of a district's last orders are running out.
pub(super) fn stock_level(terminal: &mut Terminal) -> Result<(), Problem> {
    let (warehouse, district) = (terminal.home, terminal.district());
    let threshold = terminal.random.uniform(10, 20);
    let session = &mut terminal.session;
    session.command("BEGIN")?;
    let row = session.row(
        "district",
        "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
        &[warehouse.into(), district.into()],
    )?;
    let next = number(&row, 0);
    session.row(
        "count",
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
         AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
        &[
            warehouse.into(),
            district.into(),
            next.into(),
            (next - LAST_ORDERS).into(),
            warehouse.into(),
            threshold.into(),
        ],
    )?;
    session.command("COMMIT")
}
