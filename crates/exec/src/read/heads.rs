//! What columns of tables look like: the definitions of queries that have no rows.
//!
//! What must always hold: all that was asked on a connection has been answered there before anything else is, or the connection is not
//! clean.

use weir_wire::Failure;
use weir_wire::stmt::query_payload;

use super::feed::{Feed, FeedStep};
use super::start::flush;
use crate::ShardLease;

/// Sends queries, each to the part of this place. [`heads`] reads the answers.
///
/// # Errors
/// The loss of a connection.
pub(crate) async fn ask_heads(parts: &mut [ShardLease], asked: &[(usize, Vec<u8>)]) -> Result<(), Failure> {
    for (at, text) in asked {
        let part = &mut parts[*at].lease;
        let payload = query_payload(text, part.capabilities);
        part.queue(&payload, true);
    }
    flush(parts.iter_mut()).await
}

/// The definitions of what was asked, in that order; none where a server has refused to answer.
///
/// # Errors
/// The loss of a connection.
pub(crate) async fn heads(parts: &mut [ShardLease], asked: &[(usize, Vec<u8>)]) -> Result<Vec<Vec<Vec<u8>>>, Failure> {
    let mut heads = Vec::with_capacity(asked.len());
    for (at, _) in asked {
        let mut feed = Feed::new(&mut parts[*at]);
        let ended = loop {
            match feed.next() {
                Ok(FeedStep::Row) => {}
                Ok(FeedStep::Wait) => std::future::poll_fn(|cx| feed.poll_fill(cx)).await?,
                Ok(FeedStep::End) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        let head = std::mem::take(&mut feed.head);
        match ended {
            Ok(()) => heads.push(head.definitions),
            Err(failure) if parts[*at].lease.retired => return Err(failure),
            Err(_) => heads.push(Vec::new()),
        }
    }
    Ok(heads)
}
