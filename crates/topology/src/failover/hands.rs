//! What is done to servers in a failover or a switchover, as steps: on real servers ([`super::servers`]), and in the simulation of the tests.

use std::sync::Arc;
use std::time::Duration;

use weir_backend::Position;
use weir_wire::Failure;

/// What a server says when it is asked in the middle of an action.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// It refuses writes.
    pub read_only: bool,
    /// All that it has, whoever wrote it.
    pub has: Arc<Position>,
    /// All that it has received from its source, applied or not; what it has, if it follows nobody.
    pub received: Arc<Position>,
}

/// The steps, on the servers of one group by their places. An error is the server's, or says that it can't be reached; what has been done
/// stays done.
pub(super) trait Hands: Send {
    /// Makes sure that the server can be worked on, within a short bound, and that nobody else works on this group there. `false`: somebody
    /// does.
    fn reach(&mut self, server: usize) -> impl Future<Output = Result<bool, Failure>> + Send;
    /// Asks it.
    fn look(&mut self, server: usize) -> impl Future<Output = Result<Look, Failure>> + Send;
    /// It receives nothing more from its source; what it has received it goes on to apply.
    fn stop_receiving(&mut self, server: usize) -> impl Future<Output = Result<(), Failure>> + Send;
    /// It receives again.
    fn start_receiving(&mut self, server: usize) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Waits for at most `bound` until it has a position; whether it has.
    fn wait_for(
        &mut self,
        server: usize,
        position: &Position,
        bound: Duration,
    ) -> impl Future<Output = Result<bool, Failure>> + Send;
    /// The transactions that are open there, in words; none if it is empty.
    fn open_transactions(&mut self, server: usize) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;
    /// It refuses writes, of everybody, or takes them.
    fn set_read_only(&mut self, server: usize, on: bool) -> impl Future<Output = Result<(), Failure>> + Send;
    /// It follows nobody any more, and commits as the writer of its group does.
    fn stop_following(&mut self, server: usize) -> impl Future<Output = Result<(), Failure>> + Send;
    /// It follows `source` from where it is.
    fn follow(&mut self, server: usize, source: usize) -> impl Future<Output = Result<(), Failure>> + Send;
    /// The transactions that it has and `of` lacks.
    fn errant(&mut self, server: usize, of: usize) -> impl Future<Output = Result<Option<String>, Failure>> + Send;
    /// Nothing for a while.
    fn pause(&mut self, time: Duration) -> impl Future<Output = ()> + Send;
}
