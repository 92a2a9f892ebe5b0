//! The search for an order finds what there is, and only that.

use libtest_mimic::Failed;

use super::OwnCase;
use super::order::{Call, Model, NEVER, Unexplained, explain};
use crate::driver::expect_equal;
use crate::script::Dice;

pub(super) const CASES: &[OwnCase] = &[
    ("search_finds_what_there_is", finds_what_there_is),
    ("search_knows_that_lost_calls_may_be_there", lost_calls_may_be_there_or_not),
    ("search_is_not_troubled_by_calls_that_are_alike", many_alike_are_no_trouble),
    ("search_explains_made_histories_and_no_others", made_histories_are_explained),
];

/// A number to which calls add, and of which each is told the sum after it.
struct Sum;

impl Model for Sum {
    type State = i64;
    type Op = i64;
    type Reply = i64;

    fn step(state: &i64, op: &i64, reply: Option<&i64>) -> Option<i64> {
        let after = state + op;
        reply.is_none_or(|told| *told == after).then_some(after)
    }
}

/// A stock from which calls take one while there is some, and are told whether they have got it; a call of 0 is told how much there is.
struct Stock;

impl Model for Stock {
    type State = i64;
    type Op = i64;
    type Reply = i64;

    fn step(state: &i64, op: &i64, reply: Option<&i64>) -> Option<i64> {
        let (told, after) = match op {
            0 => (*state, *state),
            _ if state >= op => (1, state - op),
            _ => (0, *state),
        };
        reply.is_none_or(|reply| *reply == told).then_some(after)
    }
}

fn call<M: Model<Op = i64, Reply = i64>>((sent, ended, op, reply): (u64, u64, i64, i64)) -> Call<M> {
    Call { sent, ended, op, reply: Some(reply) }
}

fn lost<M: Model<Op = i64, Reply = i64>>(sent: u64, op: i64) -> Call<M> {
    Call { sent, ended: NEVER, op, reply: None }
}

fn sums(calls: &[(u64, u64, i64, i64)]) -> bool {
    explain::<Sum>(0, calls.iter().copied().map(call).collect()).is_ok()
}

fn finds_what_there_is() -> Result<(), Failed> {
    expect_equal("nothing", sums(&[]), true)?;
    expect_equal("one after another", sums(&[(1, 2, 5, 5), (3, 4, 1, 6)]), true)?;
    expect_equal("at once, the later first", sums(&[(1, 4, 5, 6), (2, 3, 1, 1)]), true)?;
    expect_equal("against real time", sums(&[(1, 2, 5, 6), (3, 4, 1, 1)]), false)?;
    expect_equal("a reply for two", sums(&[(1, 4, 5, 5), (2, 3, 5, 5)]), false)?;
    expect_equal("a lost update", sums(&[(1, 4, 1, 1), (2, 3, 1, 1), (5, 6, 1, 2)]), false)?;
    expect_equal("a chain of overlaps", sums(&[(1, 3, 1, 2), (2, 6, 1, 3), (0, 4, 1, 1), (5, 7, 1, 4)]), true)?;
    // The first to end is not the first in the order: the search has to go back.
    expect_equal("back", sums(&[(1, 10, 1, 1), (2, 3, 2, 3), (4, 9, 1, 5), (5, 8, 1, 4)]), true)
}

fn lost_calls_may_be_there_or_not() -> Result<(), Failed> {
    let with = |replies: [i64; 2]| {
        let calls = vec![call((1, 2, 1, replies[0])), lost(3, 10), call((8, 9, 1, replies[1]))];
        explain::<Sum>(0, calls).is_ok()
    };
    expect_equal("not done", with([1, 2]), true)?;
    expect_equal("done", with([1, 12]), true)?;
    expect_equal("done twice", with([1, 22]), false)?;
    expect_equal("done before it was sent", with([11, 12]), false)?;
    let late = vec![lost(1, 10), call((2, 3, 1, 1)), call((4, 5, 1, 12))];
    expect_equal("done long after", explain::<Sum>(0, late).is_ok(), true)
}

/// Takers of a stock are all alike: which of them was refused at the end says nothing about the others' order.
fn many_alike_are_no_trouble() -> Result<(), Failed> {
    let takers = |first: i64, refused: i64| {
        let mut calls: Vec<Call<Stock>> = vec![];
        for round in 0..40 {
            for client in 0..64 {
                let number = round * 64 + client;
                let got = i64::from((number as i64) < 2_560 - refused);
                calls.push(call((round * 1_000 + client, round * 1_000 + 900 - client, 1, got)));
            }
        }
        calls.push(call((100_000, 100_001, 0, 0)));
        explain::<Stock>(first, calls)
    };
    expect_equal("all explained", takers(2_500, 60), Ok(2_561))?;
    let oversold = takers(2_499, 60);
    expect_equal("one more than there was", matches!(oversold, Err(Unexplained::NoOrder(_))), true)?;
    let undersold = takers(2_501, 60);
    expect_equal("one refused for nothing", matches!(undersold, Err(Unexplained::NoOrder(_))), true)
}

/// Histories that some order has made are explained, and not any more when one reply is another.
fn made_histories_are_explained() -> Result<(), Failed> {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let (mut calls, mut sum) = (Vec::new(), 0);
        for at in 0..400_u64 {
            let op = 1 + dice.below(3) as i64;
            sum += op;
            // Each takes effect at ten times its number; it may have been sent long before, and end long after.
            let (before, after) = (dice.below(300) as u64, dice.below(300) as u64);
            let middle = 1_000 + at * 10;
            calls.push((middle - before, middle + 1 + after, op, sum));
        }
        expect_equal(&format!("seed {seed}"), sums(&calls), true)?;
        let spoilt = dice.below(calls.len());
        calls[spoilt].3 += 1;
        expect_equal(&format!("seed {seed}, one reply is wrong"), sums(&calls), false)?;
        calls[spoilt].3 -= 1;
        calls[spoilt].2 += 1;
        expect_equal(&format!("seed {seed}, one adds more"), sums(&calls), false)?;
    }
    Ok(())
}
