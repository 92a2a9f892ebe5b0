//! Ends a read that needs no more rows or has failed: replies are read to their ends, or their connections close.
//!
//! What must always hold: afterwards each connection is clean, or closes when it is given back. A statement is killed only if its reply does
//! not end soon by itself. Its connection is used again only after the server has answered the KILL, which then cannot hit a later statement.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use super::feed::{Feed, FeedStep};
use super::link::{Cancel, Link};
use futures_util::future::join_all;
use weir_backend::patience::within;

/// How long a reply may take to end by itself.
const GRACE: Duration = Duration::from_millis(20);
/// How much of it is read before it is killed.
const FEW_BYTES: usize = 256 * 1024;
/// How long it may take to end once it was killed.
const BOUND: Duration = Duration::from_secs(10);

/// Reads what is left of the replies.
pub(super) async fn drain<'f, L: Link + 'f>(feeds: impl Iterator<Item = &'f mut Feed<L>>, cancel: &Cancel<'_>) {
    let mut open: Vec<&mut Feed<L>> = feeds.filter(|feed| !feed.is_done()).collect();
    if open.is_empty() {
        return;
    }
    for feed in &mut open {
        feed.drained = 0;
    }
    let _ = within(GRACE, Box::pin(read_ends(&mut open, FEW_BYTES))).await;
    open.retain(|feed| !feed.is_done());
    if open.is_empty() {
        return;
    }
    let kill = |feed: &&mut Feed<L>| -> Pin<Box<dyn Future<Output = bool>>> {
        match feed.link.target() {
            Some(target) => cancel(target),
            None => Box::pin(std::future::ready(false)),
        }
    };
    let kills: Vec<_> = open.iter().map(kill).collect();
    let both = async {
        let (killed, ()) = tokio::join!(join_all(kills), read_ends(&mut open, usize::MAX));
        killed
    };
    let killed = within(BOUND, Box::pin(both)).await;
    for (at, feed) in open.iter_mut().enumerate() {
        let answered = killed.as_ref().is_some_and(|killed| killed.get(at) == Some(&true));
        if !answered || !feed.is_done() {
            feed.broken("its statement was given up");
        }
    }
}

/// Reads replies until all have ended, or those that have not have sent more than `most` bytes each. Cancel-safe: what was read stays
/// taken, and the feeds know where they are.
async fn read_ends<L: Link>(feeds: &mut [&mut Feed<L>], most: usize) {
    std::future::poll_fn(|cx| {
        let mut left = false;
        for feed in feeds.iter_mut() {
            while !feed.is_done() && feed.drained < most {
                match feed.next() {
                    Ok(FeedStep::Row) => continue,
                    // The error of a statement that nobody waits for any more, or that was killed.
                    Ok(FeedStep::End) | Err(_) => break,
                    Ok(FeedStep::Wait) => {}
                }
                match feed.poll_fill(cx) {
                    Poll::Ready(_) => {}
                    Poll::Pending => {
                        left = true;
                        break;
                    }
                }
            }
        }
        if left { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}
