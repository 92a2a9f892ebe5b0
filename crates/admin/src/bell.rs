//! A bell that one task waits for and anybody rings.
//!
//! What must always hold: a ring is never lost: it stays until the task has heard it. Listening costs one atomic load as
//! long as nobody rings, because the task's waker is left here once and not with each wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// See the module.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicBool,
    /// Whether a waker is there: then it is the listening task's, which never changes.
    listened: AtomicBool,
    listener: Mutex<Option<Waker>>,
}

impl Bell {
    /// Rings.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = &*listener {
            waker.wake_by_ref();
        }
    }

    /// From now on the task of `cx` is the one that listens.
    fn listen(&self, cx: &Context<'_>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        self.listened.store(true, Ordering::SeqCst);
    }

    /// Resolves when the bell has rung since this last resolved. To be awaited by one task only, always the same.
    /// Cancel-safe.
    pub async fn rung(&self) {
        std::future::poll_fn(|cx| self.poll_rung(cx)).await;
    }

    fn poll_rung(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.listened.load(Ordering::Relaxed) {
            self.listen(cx);
        }
        if self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_ring_before_listening_is_heard_and_only_once() {
        let bell = Bell::default();
        bell.ring();
        bell.ring();
        bell.rung().await;
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), bell.rung()).await.is_err());
    }

    #[tokio::test]
    async fn a_ring_from_another_thread_wakes_the_listener() {
        let bell = Arc::new(Bell::default());
        let listener = tokio::spawn({
            let bell = bell.clone();
            async move { bell.rung().await }
        });
        tokio::task::yield_now().await;
        std::thread::spawn(move || bell.ring()).join().expect("the ringer does not panic");
        listener.await.expect("the listener hears it");
    }
}
