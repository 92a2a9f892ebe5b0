//! COM_QUERY: a text becomes a statement.
//!
//! What must always hold: whatever a text does, it is counted once, and what the client is told of it is put out here.

use std::rc::Rc;

use weir_sql::{Bump, TextKind};
use weir_wire::error::codes;
use weir_wire::stmt::query_text_at;
use weir_wire::{Failure, Fault};

use super::super::Session;
use super::super::stopped::{SessionEnd, Stopped};
use super::{Form, Statement, Text};
use crate::texts::ReadText;

impl Session {
    /// A text.
    pub(in crate::session) async fn query(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let at = match query_text_at(payload, self.client.capabilities) {
            Ok(at) => at,
            Err(error) => {
                self.refuse(&Failure::new(Fault::Client, codes::ER_MALFORMED_PACKET, b"HY000", error.to_string()));
                return Ok(());
            }
        };
        self.learn_reading(&payload[at..]).await?;
        let read = self.shared.read(&payload[at..], self.state.lex);
        if read.class.kind == TextKind::Multiple
            && let Some(sharding) = self.sharding()
            && let Err(stopped) = self.heed_moves(&sharding, &payload[at..]).await
        {
            return self.stopped(stopped);
        }
        let read_apart = self.is_read_apart(&read);
        // A text with hints that end its transaction may have one statement only: it is refused as a whole.
        if read_apart || !read.hinted && self.is_in_several_places(&read.class, &payload[at..]) {
            if !read_apart && Box::pin(self.rides_whole(payload, at, &read)).await? {
                return Ok(());
            }
            return Box::pin(self.run_one_by_one(payload, at)).await;
        }
        let begun = self.statement_begins();
        if let TextKind::Weir(range) = &read.class.kind {
            let statement = String::from_utf8_lossy(&payload[at..][range.clone()]).into_owned();
            return Box::pin(self.weir_statement(&statement)).await;
        }
        let ended = self.run_text(payload, at, &read).await;
        self.statement_ends(begun, &read.digested, &payload[at..], &ended);
        ended
    }

    /// Lets a text of several statements ride in a batch, if it is a transaction that changes a hot row. False: it has done nothing.
    async fn rides_whole(&mut self, payload: &[u8], at: usize, read: &Rc<ReadText>) -> Result<bool, SessionEnd> {
        let (head, text) = payload.split_at(at);
        let hot = self.shared.hot_text(read, text, self.state.lex);
        let form = Form::Text(Text { head, command: None, rides: None, hot: hot.as_deref() });
        let arena = Bump::new();
        let statement = Statement::new(&arena, text, &read.class, self.state.lex, form);
        let statement = statement.hinted(read.hint);
        if !self.changes_hot_row(&statement) {
            return Ok(false);
        }
        let begun = self.statement_begins();
        let rode = match self.admit(&read.digested).await {
            Ok(_admitted) => self.run_in_batch(&statement, None).await,
            Err(stopped) => Err(stopped),
        };
        let ended = match rode {
            Ok(false) => return Ok(false),
            Ok(true) => Ok(()),
            Err(stopped) => self.stopped(stopped),
        };
        self.statement_ends(begun, &read.digested, text, &ended);
        ended.map(|()| true)
    }

    /// Runs the text that begins at `at` in a command, and answers the client.
    pub(super) async fn run_text(&mut self, payload: &[u8], at: usize, read: &Rc<ReadText>) -> Result<(), SessionEnd> {
        let held = self.hold_status(&read.class, &payload[at..]);
        let ended = match self.run_admitted_text(payload, at, read).await {
            Ok(()) => Ok(()),
            Err(stopped) => self.stopped(stopped),
        };
        if self.ran.error == Some(codes::ER_RUN_HOOK_ERROR) {
            Box::pin(self.advise_batch()).await;
        }
        self.tell_own_tls(held, false);
        self.note_accounts(&read.class);
        ended
    }

    /// The text that begins at `at` in a command, as far as the rules let it run.
    pub(super) async fn run_admitted_text(
        &mut self,
        payload: &[u8],
        at: usize,
        read: &Rc<ReadText>,
    ) -> Result<(), Stopped> {
        let admitted = self.admit(&read.digested).await?;
        let (head, text) = payload.split_at(at);
        let rewritten = admitted.rewritten(text, self.state.lex)?;
        let read = match &rewritten {
            Some(text) => &self.shared.read(text, self.state.lex),
            None => read,
        };
        let text = rewritten.as_deref().unwrap_or(text);
        let blanked = read.hint.and_then(|_| weir_sql::without_routing_hint(text, self.state.lex));
        let command = (rewritten.is_none() && blanked.is_none()).then_some(payload);
        if read.class.kind == TextKind::Batch {
            return Box::pin(self.run_batch(text)).await;
        }
        if read.hinted {
            return Box::pin(self.run_hinted_text(head, text)).await;
        }
        // The programs that it calls may say more than the text alone.
        let known = self.class_by_programs(&read.class, text);
        let hot = self.shared.hot_text(read, text, self.state.lex);
        let form = Form::Text(Text { head, command, rides: read.rides, hot: hot.as_deref() });
        let arena = Bump::new();
        let text = blanked.as_deref().unwrap_or(text);
        let statement = Statement::new(&arena, text, known.as_ref().unwrap_or(&read.class), self.state.lex, form);
        self.run_statement(&statement.hinted(admitted.hint.or(read.hint))).await
    }
}
