//! What the sessions of one worker share.
//!
//! What must always hold: it is of one thread; what workers share is in the endpoint.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use weir_admin::WorkerStatistics;
use weir_backend::prepared::StatementKeys;
use weir_exec::hot_rows::heat::RowsOfWorker;
use weir_exec::read::Collations;
use weir_sql::LexMode;
use weir_sql::hot_row::HotText;

use crate::backends::{Backend, Backends, HOME, ServerId};
use crate::beginning::Beginnings;
use crate::client::SharedContexts;
use crate::endpoint::Endpoint;
use crate::idle::IdleWatch;
use crate::plans::Plans;
use crate::texts::{ReadText, Texts};

/// What the sessions of one worker share.
pub(crate) struct Shared {
    pub(crate) endpoint: Arc<Endpoint>,
    /// The ways to the shards, in their order; there is one at least.
    pub(crate) shards: Vec<Backends>,
    /// Whether there is more than one server: else nothing has to be decided.
    pub(crate) routes: bool,
    pub(crate) contexts: SharedContexts,
    /// Databases that a user could change to, so that a login needs no server: user, NUL, database; and of which server of the home
    /// shard this is known, after which change of its accounts.
    pub(crate) known_databases: RefCell<HashMap<Vec<u8>, (usize, u64)>>,
    pub(crate) beginnings: Beginnings,
    /// The endpoint's hot rows, so that a worker counts its own references.
    pub(crate) hot_rows: Rc<RowsOfWorker>,
    pub(crate) idle: IdleWatch,
    pub(crate) texts: Texts,
    pub(crate) statement_keys: StatementKeys,
    pub(crate) plans: Plans,
    /// What is known of collations, for merging.
    pub(crate) collations: Collations,
    pub(crate) statistics: Rc<WorkerStatistics>,
    pub(crate) sessions: Arc<AtomicUsize>,
}

impl Shared {
    /// The way to a server.
    pub(crate) fn at(&self, place: ServerId) -> &Backend {
        self.shards[place.shard].at(place.index)
    }

    /// The ways to the home shard.
    pub(crate) fn home(&self) -> &Backends {
        &self.shards[HOME]
    }

    /// Reads a text, if none like it has been read before.
    pub(crate) fn read(&self, text: &[u8], mode: LexMode) -> Rc<ReadText> {
        self.texts.read(text, mode, &self.statistics.table)
    }

    /// The statement of a text that was read, if it may ride in a batch.
    pub(crate) fn hot_text(&self, read: &ReadText, text: &[u8], mode: LexMode) -> Option<Rc<HotText>> {
        self.texts.hot(read, text, mode, &self.statistics.table)
    }
}
