//! Whether the client's command has its whole answer.
//!
//! What must always hold: a client gets one answer to each of its commands. What goes wrong behind a whole answer can't be said in it any more:
//! an error that is put then would be taken for the answer to the next command, and each answer after it for that of the command before. It
//! ends the session, and has the number with which the answer to the next command begins.

use super::{Client, Mark};

/// The number of the packet with which the answer to a command of one frame begins.
const FIRST_OF_ANSWER: u8 = 1;

impl Client {
    /// A command has arrived.
    pub fn awaits_answer(&mut self) {
        self.answered = false;
    }

    /// The latest command, or the latest of its statements, has its whole answer.
    pub fn is_answered(&mut self) {
        self.answered = true;
    }

    /// Whether it has.
    pub fn has_answer(&self) -> bool {
        self.answered
    }

    /// Something runs beside the client's command, and is taken back with the mark: it has an answer of its own.
    pub fn begin_beside(&mut self) -> Mark {
        let mark = self.mark();
        self.answered = false;
        mark
    }

    /// What is put from now on answers the command that the client sends next, if the latest has its answer. Servers give number 0 to what
    /// they say unasked, which drivers that read only behind a command of theirs take for a broken connection.
    ///
    /// # Errors
    /// As [`Client::flush`].
    pub(super) async fn answer_next(&mut self) -> Result<(), super::ClientError> {
        if !self.answered {
            return Ok(());
        }
        if self.compressed.is_some() {
            // What follows begins a frame.
            self.flush().await?;
        }
        self.packets.set_next_seq(FIRST_OF_ANSWER);
        if let Some(compressed) = &mut self.compressed {
            compressed.writer.set_next_seq(FIRST_OF_ANSWER);
            compressed.frames.begin_command();
            compressed.frames.heard(&[], self.capabilities);
        }
        Ok(())
    }
}
