//! Waiting for several things at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Runs all of them in the task at hand, and returns what came of them, in their order.
pub(super) async fn join_all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for (future, done) in running.iter_mut().filter(|(_, done)| done.is_none()) {
            match Pin::new(future).poll(cx) {
                Poll::Ready(value) => *done = Some(value),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}
