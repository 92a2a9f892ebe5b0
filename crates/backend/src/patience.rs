//! Bounds on waiting for a server that hold on a busy machine, too.
//!
//! What waits for an answer is often on the machine of what is to give it, or on one that is as busy. Where this process gets to run
//! late, so does the other one, and time by the clock says more of the machine than of the server. So the time that is counted goes on
//! in short steps, each begun when the one before was seen to be over: what the machine was late with is not counted.
//!
//! What must always hold: what never comes is given up, after the bound at the earliest.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// A step of the time that is counted. The shorter, the more a late machine is forgiven.
pub(crate) const STEP: Duration = Duration::from_millis(25);

/// What `work` gives, or nothing if it takes longer than `bound`; see the module. What is given up is dropped.
pub async fn within<T>(bound: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = bound;
    loop {
        let step = left.min(STEP);
        match tokio::time::timeout(step, work.as_mut()).await {
            Ok(done) => return Some(done),
            Err(_) if left <= STEP => return None,
            Err(_) => left -= step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
    }

    #[test]
    fn what_never_comes_is_given_up_and_what_is_there_is_not() {
        runtime().block_on(async {
            assert_eq!(within(3 * STEP / 2, std::future::pending::<()>()).await, None);
            assert_eq!(within(Duration::ZERO, async { 1 }).await, Some(1));
            assert_eq!(within(Duration::ZERO, std::future::pending::<()>()).await, None);
        });
    }

    #[test]
    fn what_the_machine_is_late_with_is_not_counted() {
        let bound = 4 * STEP;
        // Each of the steps of the work is seen to be over when twice the bound has passed.
        let work = || async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                std::thread::sleep(2 * bound);
            }
        };
        runtime().block_on(async {
            assert!(tokio::time::timeout(bound, work()).await.is_err());
            assert_eq!(within(bound, work()).await, Some(()));
        });
    }
}
