//! What Weir's answer to a text is beside the server's.
//!
//! What must always hold: no statement has run that the server has not run, and none in another way. What may differ else is named here.

use super::Answer;
use crate::reply::{MORE_RESULTS, Set};

/// A syntax error's code.
const SYNTAX: u16 = 1064;
/// The code for what Weir can't do exactly.
const NOT_SUPPORTED: u16 = 1235;
/// The code for a statement that is nothing.
const EMPTY: u16 = 1065;
/// Flags of the status that tell how texts are read (`NO_BACKSLASH_ESCAPES`, `ANSI_QUOTES`). A server keeps those that a routine or block
/// has set after it has restored `sql_mode`, and what Weir has merged has those of `sql_mode`.
const READING: u16 = 0x0200 | 0x8000;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    /// The same up to a statement that Weir refused, and nothing has run from there on.
    Refused,
    Different,
}

/// The verdict on the answers to a text. `over_shards`: Weir's are from several.
pub(super) fn of(text: &[u8], server: &Answer, weir: &Answer, over_shards: bool) -> Verdict {
    let (server, weir) = match over_shards {
        true => (&as_merged(text, server), &as_merged(text, weir)),
        false => (server, weir),
    };
    let same_after = weir.after == server.after;
    // A NUL is a text's end, or nothing, or an error, by where it stands.
    let may_be_nothing = text.contains(&0);
    if server.is_lost() || same_after && are_same(&weir.sets, &server.sets, may_be_nothing) {
        return Verdict::Same;
    }
    if same_after && has_no_reply_to_nothing(&weir.sets, &server.sets) {
        return Verdict::Refused;
    }
    if over_shards && are_same(&weir.sets, &server.sets, may_be_nothing) && weir.after.last().is_some_and(is_error) {
        // The text has bound the session to another shard than that of its markers.
        return Verdict::Refused;
    }
    let Some((Set::Error(code, ..), before)) = weir.sets.split_last() else { return Verdict::Different };
    let as_far = server.sets.get(..before.len()).is_some_and(|sets| are_same(before, sets, false));
    let refused = over_shards || matches!(*code, SYNTAX | NOT_SUPPORTED);
    match refused && as_far && server.markers().starts_with(&weir.markers()) {
        true => Verdict::Refused,
        false => Verdict::Different,
    }
}

/// Without what shards can't agree on.
fn as_merged(text: &[u8], answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    answer.sets.iter_mut().chain(&mut answer.after).for_each(|set| set.without_status(READING));
    // What is warned of when a text is parsed is warned of by each shard, and again by EXECUTE, which is the text sent anew.
    let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    if has(b"EXECUTE") || has(b"/*!") {
        answer.sets.iter_mut().for_each(Set::without_warnings);
    }
    answer
}

fn is_error(set: &Set) -> bool {
    set.error_code().is_some()
}

/// Whether replies are the same. A syntax error quotes what comes after it, of which Weir has not always sent all.
fn are_same(ours: &[Set], theirs: &[Set], may_be_nothing: bool) -> bool {
    let same = |(ours, theirs): (&Set, &Set)| match (ours, theirs) {
        (Set::Error(SYNTAX, ..), Set::Error(SYNTAX, ..)) => true,
        _ => ours == theirs || may_be_nothing && is_of_nothing(ours) && is_of_nothing(theirs),
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
}

/// A reply to a statement that is nothing, which only a NUL makes an error.
fn is_of_nothing(set: &Set) -> bool {
    match set {
        Set::Ok(ok) => ok.affected == 0 && ok.info.is_empty(),
        Set::Error(code, ..) => matches!(*code, EMPTY | SYNTAX),
        _ => false,
    }
}

/// Whether only the reply to comments at the text's end is missing: where a statement's end is not certain it is sent with all that follows.
fn has_no_reply_to_nothing(ours: &[Set], theirs: &[Set]) -> bool {
    let Some((_, before)) = theirs.split_last().filter(|(last, _)| is_of_nothing(last)) else { return false };
    let mut before = before.to_vec();
    if let Some(ended) = before.last_mut() {
        ended.without_status(MORE_RESULTS);
    }
    are_same(ours, &before, false)
}
