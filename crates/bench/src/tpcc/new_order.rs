//! New-Order: a customer orders 5 to 15 items, now and then one of another warehouse's stock.

use mysql::Value;

use super::WAREHOUSES;
use super::client::{Problem, Terminal, number};

/// Below this a stock is filled up again.
const LEAST_STOCK: i64 = 10;
const REFILL: i64 = 91;
/// An item that there is not: what ends one order in a hundred.
const NO_ITEM: u32 = 0;

/// A line of an order.
#[derive(Debug, Clone, Copy)]
struct Line {
    supplier: u32,
    item: u32,
    quantity: u32,
}

pub(super) fn run(terminal: &mut Terminal) -> Result<(), Problem> {
    let (warehouse, district) = (terminal.home, terminal.district());
    let customer = terminal.random.customer(terminal.scale.customers());
    let lines = lines(terminal);
    let is_local = lines.iter().all(|line| line.supplier == warehouse);
    let place: [Value; 2] = [warehouse.into(), district.into()];
    let session = &mut terminal.session;
    session.command("BEGIN")?;
    session.row(
        "customer",
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
         WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
        &[warehouse.into(), district.into(), customer.into()],
    )?;
    let row = session.row(
        "district",
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
        &place,
    )?;
    let order = number(&row, 0);
    session.run(
        "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?",
        &[(order + 1).into(), warehouse.into(), district.into()],
    )?;
    let of_order: [Value; 3] = [order.into(), district.into(), warehouse.into()];
    let [id, in_district, in_warehouse] = of_order.clone();
    session.run(
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
        &[id, in_district, in_warehouse, customer.into(), lines.len().into(), i32::from(is_local).into()],
    )?;
    session.run("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", &of_order)?;
    for (position, line) in (1_u32..).zip(&lines) {
        if !self::line(terminal, (order, district, position), *line)? {
            return terminal.session.command("ROLLBACK");
        }
    }
    terminal.session.command("COMMIT")
}

/// The lines, in the order of warehouse and item; one order in a hundred has an item that there is not, at its end.
fn lines(terminal: &mut Terminal) -> Vec<Line> {
    let number = terminal.random.uniform(5, 15);
    let mut lines: Vec<Line> = Vec::new();
    while lines.len() < number as usize {
        let is_remote = WAREHOUSES > 1 && terminal.random.in_percent(1);
        let supplier = if is_remote { terminal.other_warehouse() } else { terminal.home };
        let item = terminal.random.item(terminal.scale.items);
        let quantity = terminal.random.uniform(1, 10);
        lines.push(Line { supplier, item, quantity });
    }
    lines.sort_by_key(|line| (line.supplier, line.item));
    if terminal.random.in_percent(1)
        && let Some(last) = lines.last_mut()
    {
        last.item = NO_ITEM;
    }
    lines
}

/// Takes a line from the stock and adds it to the order; false if there is no such item.
fn line(terminal: &mut Terminal, (order, district, position): (i64, u32, u32), line: Line) -> Result<bool, Problem> {
    let Line { supplier, item, quantity } = line;
    let (home, session) = (terminal.home, &mut terminal.session);
    let rows = session.rows("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", &[item.into()])?;
    let Some(found) = rows.first() else { return Ok(false) };
    let price: f64 = found.get(0).unwrap_or_default();
    let query = format!(
        "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE"
    );
    let stock = session.row("stock", &query, &[supplier.into(), item.into()])?;
    let info: String = stock.get(2).unwrap_or_default();
    let quantity = i64::from(quantity);
    session.run(
        "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
        &[
            left(number(&stock, 0), quantity).into(),
            quantity.into(),
            i32::from(supplier != home).into(),
            supplier.into(),
            item.into(),
        ],
    )?;
    let amount = (price * quantity as f64 * 100.0).round() / 100.0;
    session.run(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
         ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &[
            order.into(),
            district.into(),
            home.into(),
            position.into(),
            item.into(),
            supplier.into(),
            quantity.into(),
            amount.into(),
            info.into(),
        ],
    )?;
    Ok(true)
}

/// What is left of a stock, which is filled up before it is empty.
fn left(stock: i64, taken: i64) -> i64 {
    if stock >= taken + LEAST_STOCK { stock - taken } else { stock - taken + REFILL }
}

#[cfg(test)]
mod tests {
    use super::left;

    #[test]
    fn a_stock_is_filled_up_before_it_has_less_than_ten() {
        assert_eq!([left(20, 10), left(19, 10), left(11, 1), left(10, 1)], [10, 100, 10, 100]);
    }
}
