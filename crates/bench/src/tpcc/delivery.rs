//! Delivery: the oldest order of each district that is not delivered yet, if there is one.

use mysql::Value;

use super::DISTRICTS;
use super::client::{Problem, Session, Terminal, number};

pub(super) fn run(terminal: &mut Terminal) -> Result<(), Problem> {
    let warehouse = terminal.home;
    let carrier = terminal.random.uniform(1, 10);
    let session = &mut terminal.session;
    session.command("BEGIN")?;
    for district in 1..=DISTRICTS {
        deliver(session, warehouse, district, carrier)?;
    }
    session.command("COMMIT")
}

fn deliver(session: &mut Session, warehouse: u32, district: u32, carrier: u32) -> Result<(), Problem> {
    let oldest = session.rows(
        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
        &[warehouse.into(), district.into()],
    )?;
    let Some(order) = oldest.first().map(|row| number(row, 0)) else { return Ok(()) };
    let of_order: [Value; 3] = [warehouse.into(), district.into(), order.into()];
    let [in_warehouse, in_district, id] = of_order.clone();
    session.run("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", &of_order)?;
    // An order younger than the transaction's snapshot is seen by a plain read only when it was changed here.
    session.run(
        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
        &[carrier.into(), in_warehouse, in_district, id],
    )?;
    let row =
        session.row("order", "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", &of_order)?;
    let customer = number(&row, 0);
    session.run(
        "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        &of_order,
    )?;
    let row = session.row(
        "order's lines",
        "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        &of_order,
    )?;
    let amount: f64 = row.get_opt(0).and_then(Result::ok).unwrap_or_default();
    session.run(
        "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[amount.into(), warehouse.into(), district.into(), customer.into()],
    )
}
