//! Turns on a worker for its other sessions, while one has much to do that it never waits for.

/// So many bytes are taken in one turn: a millisecond's work.
const TURN: usize = 16 * 1024;

/// What was taken since others last had a turn.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: usize,
}

impl Turns {
    /// So many bytes more were taken. Others get their turn when they are enough for one: where what comes next has always arrived
    /// already, nothing else ends it.
    pub(crate) async fn took(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken >= TURN {
            self.taken = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn others_have_a_turn_between_many_bytes() {
        let mut turns = Turns::default();
        assert!(turns.took(TURN - 1).now_or_never().is_some());
        assert!(turns.took(1).now_or_never().is_none(), "a turn of somebody else");
        assert!(turns.took(TURN - 1).now_or_never().is_some(), "the next turn begins");
    }
}
