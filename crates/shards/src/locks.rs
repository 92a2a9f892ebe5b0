//! Who may define what, within this process.
//!
//! What must always hold: of two definitions that run at once no object of one meets an object of the other. All objects of a
//! definition are taken at once, so that no two wait for each other. Who has a turn to begin waits for nobody's objects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{MutexGuard, Notify};
use weir_catalog::Object;

/// The objects that are being defined, shared by all workers.
#[derive(Debug, Clone, Default)]
pub struct Locks(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<Vec<Object>>,
    freed: Notify,
    beginning: tokio::sync::Mutex<()>,
}

/// Objects taken; free again when it is dropped.
#[derive(Debug)]
pub struct HeldLocks {
    objects: Vec<Object>,
    shared: Arc<Shared>,
}

impl Locks {
    /// Takes objects, waiting for those who have them. Cancel-safe: nothing is taken before it returns.
    pub async fn take(&self, objects: &[Object]) -> HeldLocks {
        loop {
            let freed = self.0.freed.notified();
            let mut freed = std::pin::pin!(freed);
            // Registered before it is looked at who has them, so that no release in between is missed.
            freed.as_mut().enable();
            if let Some(taken) = self.try_take(objects) {
                return taken;
            }
            freed.await;
        }
    }

    /// The same, with a bound on the wait. `None`: they could not be had.
    pub async fn take_within(&self, bound: Duration, objects: &[Object]) -> Option<HeldLocks> {
        tokio::time::timeout(bound, self.take(objects)).await.ok()
    }

    /// Waits for a turn to begin a definition, in the order of asking. While somebody has it no other one begins, so that the catalog
    /// changes only by what is already under way: few times, however many definitions are asked for.
    pub async fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.beginning.lock().await
    }

    fn try_take(&self, objects: &[Object]) -> Option<HeldLocks> {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.iter().any(|known| objects.iter().any(|wanted| wanted.meets(known))) {
            return None;
        }
        taken.extend_from_slice(objects);
        Some(HeldLocks { objects: objects.to_vec(), shared: self.0.clone() })
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        let mut taken = self.shared.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for object in &self.objects {
            if let Some(at) = taken.iter().position(|known| known == object) {
                taken.swap_remove(at);
            }
        }
        drop(taken);
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_meets_waits_and_what_does_not_goes_on() {
        let locks = Locks::default();
        let first = locks.take(&[Object::within("shop", "t")]).await;
        let _other = locks.take(&[Object::within("shop", "u")]).await;
        assert!(locks.try_take(&[Object::database("shop")]).is_none());
        let both = [Object::within("shop", "t"), Object::within("shop", "v")];
        let waiting = locks.take(&both);
        let mut waiting = std::pin::pin!(waiting);
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it did not wait"),
            () = std::future::ready(()) => {}
        }
        assert!(locks.try_take(&both[1..]).is_some(), "who waits has nothing yet");
        drop(first);
        let taken = waiting.await;
        assert!(locks.try_take(&both[..1]).is_none());
        drop(taken);
        assert!(locks.try_take(&both).is_some());
    }
}
