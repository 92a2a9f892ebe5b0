//! Transaction replay: an open transaction whose writer is lost runs again on the new writer, if `transaction_replay` says so.
//!
//! What must always hold: the client can't tell a transaction that was run again from one that has run there from the beginning. So each
//! statement is kept with a [checksum](checksum::Checksum) of its reply, and the transaction goes on only if all replies are the same again.
//! What no checksum could tell is not run again: what has the transaction, or its session, depend on more than the data. A COMMIT that was
//! sent is never sent again. What is kept is bounded in bytes.
//!
//! * this module: what is kept, and until when;
//! * [`varies`]: which statements can't be run again, by their texts;
//! * [`play`]: running them again.

mod checksum;
mod play;
mod varies;

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Instant;

use weir_backend::prepared::StatementKey;
use weir_backend::profile::SharedProfile;
use weir_sql::{Class, Effects, TextKind};
use weir_wire::stmt::query_payload;
use weir_wire::{Capabilities, StatusFlags};

pub(in crate::session) use checksum::Checksum;
pub(in crate::session) use play::lasting_table;

use super::Session;
use super::latest::LatestStatement;
use super::lost_transaction::leaves_open;
use super::outcome::ReplyOutcome;
use super::state::Begin;
use super::statement::{Form, Statement};
use super::transaction::may_change;
use super::unless_lost::unless_lost;
use crate::backends::ServerId;

/// What a statement takes beside its bytes, about.
const OF_EACH: usize = 256;

/// Errors that end their statement and nothing else: duplicate keys, values that do not fit, unknown names, syntax.
const OF_STATEMENT: [u16; 20] = [
    1048, 1049, 1052, 1054, 1062, 1064, 1136, 1146, 1242, 1264, 1292, 1364, 1365, 1366, 1406, 1451, 1452, 1586, 1690,
    3819,
];

/// Savepoints and characteristics that are not sent yet, or several participants.
const MORE_THAN_ITS_START: &str = "it has more to its beginning than one server knows";

/// Why a transaction is not run again.
type Reason = Cow<'static, str>;

/// How a statement was sent.
#[derive(Debug)]
enum Sent {
    /// A command as it is; its text begins at this place.
    Command(Vec<u8>, usize),
    /// An execution of a prepared statement: the client's packet, the number and the types of its parameters.
    Execution {
        key: Rc<StatementKey>,
        packet: Vec<u8>,
        params: u16,
        types: Option<Rc<[u8]>>,
        untyped: bool,
        since: Instant,
    },
}

impl Sent {
    fn bytes(&self) -> usize {
        match self {
            Sent::Command(payload, _) => payload.len(),
            Sent::Execution { packet, key, .. } => packet.len() + key.text.len(),
        }
    }

    fn text(&self) -> &[u8] {
        match self {
            Sent::Command(payload, at) => payload.get(*at..).unwrap_or_default(),
            Sent::Execution { key, .. } => &key.text,
        }
    }
}

/// A statement that has run, and what its client was told.
#[derive(Debug)]
struct Record {
    class: Class,
    sent: Sent,
    told: [u8; 32],
}

/// A transaction, as it has run so far.
#[derive(Debug)]
pub(in crate::session) struct Recording {
    /// What it began with, if that was not its first statement.
    begin: Option<Begin>,
    /// In which of its lives the server was when it began, once the connection was there.
    life: Option<u64>,
    /// The server that was lost with it.
    server: ServerId,
    /// The session's settings, which do not change in it.
    profile: SharedProfile,
    /// What was left by the statement before it.
    before: LatestStatement,
    /// What was left before the statement at hand.
    now: LatestStatement,
    records: Vec<Record>,
    bytes: usize,
    most_bytes: usize,
    /// The reply to the statement at hand, so far.
    at_hand: Option<Checksum>,
    /// Servers that were lost since a statement has last succeeded.
    losses: u32,
    /// A statement in it may change data.
    changes: bool,
    /// Why it can't be run again.
    spoilt: Option<Reason>,
}

impl Recording {
    fn spoil(&mut self, why: impl Into<Reason>) {
        if self.spoilt.is_none() {
            self.spoilt = Some(why.into());
            (self.records, self.at_hand) = (Vec::new(), None);
        }
    }
}

/// Where a session is with the replay of its transaction.
#[derive(Debug, Default)]
pub(in crate::session) struct Replay {
    /// The open transaction, if it is kept from its beginning on.
    recording: Option<Box<Recording>>,
    /// It is being run again.
    playing: bool,
    /// It was lost while the session was idle: it runs again before the next statement.
    pending: bool,
    /// It has been run again, up to the statement that comes next.
    played: bool,
    /// What the session shows of it.
    shown: String,
}

impl Replay {
    /// The transaction is over, or is none that is known from its beginning.
    pub(in crate::session) fn forget(&mut self) {
        if !self.playing {
            self.recording = None;
            (self.pending, self.played) = (false, false);
        }
    }

    /// The transaction can't be run again.
    pub(in crate::session) fn spoil(&mut self, why: impl Into<Reason>) {
        if let Some(recording) = &mut self.recording {
            recording.spoil(why);
        }
    }

    /// Whether the session's transaction may have to be run again: its beginning is confirmed before anything else is sent.
    pub(in crate::session) fn is_on(&self) -> bool {
        self.playing || self.is_alive()
    }

    /// Whether the open transaction is kept, and nothing speaks against running it again.
    pub(in crate::session) fn is_alive(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.spoilt.is_none())
    }

    /// The transaction is being run again.
    pub(in crate::session) fn is_playing(&self) -> bool {
        self.playing
    }

    /// It has to be run again before anything else.
    pub(in crate::session) fn is_pending(&self) -> bool {
        self.pending
    }

    /// The transaction was lost with its server.
    pub(in crate::session) fn take_lost(&mut self, server: ServerId) -> Option<Box<Recording>> {
        let mut recording = self.recording.take()?;
        (recording.server, recording.at_hand) = (server, None);
        Some(recording)
    }

    /// What is known of it is kept.
    pub(in crate::session) fn keep_lost(&mut self, recording: Option<Box<Recording>>) {
        self.recording = recording;
    }

    /// It runs again before the next statement.
    pub(in crate::session) fn wait_for_statement(&mut self) {
        self.pending = true;
    }

    /// Why the transaction can't be run again, if it was to be.
    pub(in crate::session) fn why_not(&self) -> Option<&str> {
        self.recording.as_ref()?.spoilt.as_deref()
    }

    /// Takes down what the client is told of the statement at hand.
    pub(in crate::session) fn checksum(&mut self) -> Option<&mut Checksum> {
        self.recording.as_mut()?.at_hand.as_mut()
    }
}

impl Session {
    /// So many bytes of a transaction are kept, if it is to be run again.
    fn replays(&self) -> Option<usize> {
        let settings = self.shared.shards[self.target.shard].group.settings();
        self.own_replay.unwrap_or(settings.transaction_replay).then_some(settings.transaction_replay_size)
    }

    /// A statement is about to be sent on the session's connection: a recording begins with it, or goes on.
    pub(in crate::session) async fn record_begins(&mut self, statement: &Statement<'_>) {
        let goes_on = std::mem::take(&mut self.replay.played);
        if !goes_on && starts_transaction(statement.class, &self.state, self.has_open_transaction()) {
            self.replay.forget();
            Box::pin(self.start_recording()).await;
        }
        let reason = self.speaks_against(statement);
        let Some(recording) = &mut self.replay.recording else { return };
        recording.now = self.state.latest.clone();
        recording.changes |= may_change(statement.class);
        match reason {
            Some(reason) => recording.spoil(reason),
            None if recording.spoilt.is_none() => recording.at_hand = Some(Checksum::default()),
            None => {}
        }
    }

    /// A statement is about to be prepared: a recording begins with the transaction's start, if that is sent with it.
    pub(in crate::session) async fn record_preparation(&mut self) {
        if self.state.begin.is_some() && !self.replay.played {
            self.replay.forget();
            Box::pin(self.start_recording()).await;
            if !self.transaction.is_plain() || self.transaction.unsent() {
                self.replay.spoil(MORE_THAN_ITS_START);
            }
        }
    }

    async fn start_recording(&mut self) {
        let Some(most_bytes) = self.replays() else { return };
        if self.state.left_something() {
            // A lost connection would take it along; one that is lost already has.
            let handle = self.handle.clone();
            let learnt = unless_lost(&handle, self.learn_what_was_left(true)).await;
            if !matches!(learnt, Some(Ok(()))) {
                self.lose_lease();
            }
        }
        self.replay.recording = Some(Box::new(Recording {
            begin: self.state.begin.clone(),
            life: None,
            server: self.target.place(),
            profile: self.state.profile.clone(),
            before: self.state.latest.clone(),
            now: LatestStatement::default(),
            records: Vec::new(),
            bytes: 0,
            most_bytes,
            at_hand: None,
            losses: 0,
            changes: false,
            spoilt: None,
        }));
    }

    /// Why the transaction can't be run again, before the statement at hand.
    fn speaks_against(&self, statement: &Statement<'_>) -> Option<Reason> {
        let recording = self.replay.recording.as_ref()?;
        if recording.spoilt.is_some() {
            return None;
        }
        if !self.state.pins.is_empty() || self.state.has_busy_statements() {
            return Some(format!("the session is bound by: {}", self.state.bindings()).into());
        }
        if self.state.profile != recording.profile {
            return Some("it has changed the session's settings, user variables or database".into());
        }
        if !self.transaction.is_plain() || self.transaction.unsent() {
            return Some(MORE_THAN_ITS_START.into());
        }
        if statement.opens_cursor() || statement.execution().is_some_and(|execution| execution.long_data) {
            return Some("cursors and values in pieces are not kept".into());
        }
        matches!(statement.form, Form::SqlPrepared(_)).then(|| "EXECUTE over shards is not kept".into())
    }

    /// Any command is about to be sent, on a connection that is there.
    pub(in crate::session) fn note_before_command(&mut self) {
        let (latest, lease) = (&self.state.latest, &self.current.lease);
        if let Some(recording) = self.replay.recording.as_mut().filter(|recording| recording.spoilt.is_none()) {
            recording.life = recording.life.or_else(|| Some(lease.as_ref()?.server.observation()?.life));
            recording.now = latest.clone();
        }
    }

    /// A statement has run on the session's connection.
    pub(in crate::session) fn record_ends(&mut self, statement: &Statement<'_>, outcome: &ReplyOutcome) {
        let (class, open) = (statement.class, self.has_open_transaction());
        let capabilities = self.current.lease.as_ref().map(|lease| lease.capabilities).unwrap_or_default();
        let Some(recording) = &mut self.replay.recording else { return };
        if recording.spoilt.is_some() {
            return;
        }
        if outcome.status.is_some_and(|status| !status.contains(StatusFlags::IN_TRANS)) {
            self.replay.forget();
            return;
        }
        let told = recording.at_hand.take().and_then(Checksum::finish);
        let first = recording.records.is_empty() && (!open || recording.begin.is_none());
        let Some(told) = told else {
            recording.spoil("a statement has asked for a file, or its reply is none that can come again");
            return;
        };
        match outcome.error {
            _ if !(leaves_open(class) || first && begins(class)) => {
                recording.spoil("a statement in it may end a transaction, or run others that do");
            }
            _ if outcome.killed => recording.spoil("a statement in it was killed"),
            Some((code, _)) if !OF_STATEMENT.contains(&code) => {
                recording.spoil(format!("a statement in it has failed with error {code}, which may have undone more"));
            }
            _ => {
                recording.losses = 0;
                recording.take(Record { class: class.clone(), sent: sent(statement, capabilities), told });
            }
        }
    }

    /// A command has run that is not kept.
    pub(in crate::session) fn is_not_kept(&mut self, what: &'static str) {
        self.replay.spoil(what);
    }

    /// Between commands: what is kept of a transaction that is over goes, and others see what is kept.
    pub(in crate::session) fn show_replay(&mut self) {
        if !self.replay.pending && !self.state.in_transaction() {
            self.replay.forget();
        }
        let shown = match self.replay.recording.as_ref().map(|recording| &recording.spoilt) {
            None => String::new(),
            Some(Some(reason)) => format!("no: {reason}"),
            Some(None) => "yes".to_owned(),
        };
        if shown != self.replay.shown {
            self.handle.info().replay.clone_from(&shown);
            self.replay.shown = shown;
        }
    }
}

impl Recording {
    fn take(&mut self, record: Record) {
        self.bytes += record.sent.bytes() + OF_EACH;
        if self.bytes > self.most_bytes {
            let most = self.most_bytes;
            self.spoil(format!("it has more than transaction_replay_size, {most} bytes"));
            return;
        }
        self.records.push(record);
    }
}

/// Whether a transaction begins with a statement.
fn starts_transaction(class: &Class, state: &super::state::SessionState, open: bool) -> bool {
    let by_itself = !state.status.contains(StatusFlags::AUTOCOMMIT);
    state.begin.is_some() || !open && (by_itself || begins(class)) || matches!(class.kind, TextKind::Begin { .. })
}

/// Whether a statement is a transaction's beginning, and nothing else.
fn begins(class: &Class) -> bool {
    matches!(class.kind, TextKind::Begin { .. })
        || class.kind == TextKind::Other && class.effects.contains(Effects::STARTS_TRANSACTION_OTHER)
}

/// A statement as it was sent to its server.
fn sent(statement: &Statement<'_>, capabilities: Capabilities) -> Sent {
    match statement.form {
        Form::Prepared(execution) => Sent::Execution {
            key: execution.key.clone(),
            packet: execution.packet.to_vec(),
            params: execution.params,
            types: execution.types.cloned(),
            untyped: execution.untyped,
            since: execution.since,
        },
        Form::Text(text) => match text.command {
            Some(command) => Sent::Command(command.to_vec(), text.head.len()),
            None => Sent::Command([text.head, statement.text].concat(), text.head.len()),
        },
        Form::Resolved | Form::SqlPrepared(_) => {
            let payload = query_payload(statement.text, capabilities);
            let at = payload.len() - statement.text.len();
            Sent::Command(payload, at)
        }
    }
}
