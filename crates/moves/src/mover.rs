//! All moves of a process.
//!
//! What must always hold: of a move that is in progress one task does what its record says, and whoever changes the record wakes that task.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use weir_catalog::{Catalog, LayoutChange, Move, MovePhase, Object};
use weir_reshard::{Controls, Progress};
use weir_shards::{Sharding, Stage};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::carry::{self, Sides};
use crate::drive;
use crate::layout::{self, WantedLayout};
use crate::moment;
use crate::request::{Request, judge};

/// How often a request is thought over when the catalog changes under it.
const ATTEMPTS: usize = 100;

/// See the module.
pub struct Mover {
    pub(crate) sharding: Arc<Sharding>,
    /// One cutover at a time.
    pub(crate) cutting: tokio::sync::Mutex<()>,
    running: Mutex<BTreeMap<u64, Arc<Running>>>,
    /// Counts changes of records, and what else is worth a look.
    changed: watch::Sender<u64>,
    /// Another process of this Weir may still serve sessions: no table may change its place.
    elsewhere: AtomicBool,
    /// This process does nothing for moves any more.
    stopping: AtomicBool,
}

/// What is known of a move beside its record.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) controls: Arc<Controls>,
    /// Both sides are to be compared once more.
    pub(crate) compare: AtomicBool,
    pub(crate) seen: Mutex<Seen>,
}

/// For display.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) progress: Option<Progress>,
    /// What it does, or waits for.
    pub(crate) state: String,
    /// What came of the latest comparison of both sides.
    pub(crate) compared: Option<String>,
}

impl std::fmt::Debug for Mover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mover").finish_non_exhaustive()
    }
}

/// What came of waiting for a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// The new placement is in effect.
    Done,
    /// It is paused, or given up, with this error.
    Stopped(Failure),
}

impl Mover {
    /// The moves of this catalog. Nothing runs before [`Mover::start`].
    pub fn new(sharding: Arc<Sharding>) -> Arc<Mover> {
        Arc::new(Mover {
            sharding,
            cutting: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            changed: watch::Sender::new(0),
            elsewhere: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// The catalog that it works with.
    pub fn sharding(&self) -> &Arc<Sharding> {
        &self.sharding
    }

    /// The catalog as it is now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.sharding.catalog_now()
    }

    /// Before clients are served: tables whose names are about to change are held.
    pub fn close_gates(&self) {
        let catalog = self.sharding.catalog();
        let Some(known) = catalog.moves.iter().find(|known| known.phase.is_renaming()) else { return };
        tracing::info!(id = known.id, "a cutover was broken off: statements on its tables wait until it is ended");
        self.approach();
        self.sharding.gate.turn_to(Stage::Sealed);
    }

    /// The gate is near, for the tables of all moves in progress: of transactions that have used none of them none waits.
    pub(crate) fn approach(&self) {
        let catalog = self.sharding.catalog();
        let moves = catalog.moves.iter().filter(|known| !known.phase.has_ended());
        let names: Vec<String> = moves.flat_map(|known| catalog.names_of_move(known.id)).collect();
        self.sharding.gate.approach(names.iter().map(String::as_str));
    }

    /// The gate is open again if no move waits for its cutover. To be called by who has the turn to cut over.
    pub(crate) fn settle_gate(&self) {
        let catalog = self.sharding.catalog();
        if catalog.moves.iter().any(|known| known.phase.is_renaming()) {
            // It has been broken off: who ends it opens the gate.
            return;
        }
        let now = moment::now();
        if !catalog.moves.iter().any(|known| known.may_cut_over(now)) {
            self.sharding.gate.turn_to(Stage::Open);
        } else if self.sharding.gate.stage() > Stage::Near {
            self.sharding.gate.turn_to(Stage::Near);
        }
    }

    /// Goes on with the moves that are in progress.
    pub fn start(self: &Arc<Self>) {
        let catalog = self.sharding.catalog_now();
        for known in catalog.moves.iter().filter(|known| !known.phase.has_ended()) {
            self.run(known.id);
        }
    }

    /// Whether another process of this Weir may still serve sessions, as in a takeover.
    pub fn set_elsewhere(&self, elsewhere: bool) {
        self.elsewhere.store(elsewhere, Ordering::Relaxed);
        self.look();
    }

    /// Ends the work of this process, before another one goes on with it: what runs comes to a point from which that is possible.
    pub async fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.look();
        let mut changes = self.changes();
        while !self.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Relaxed)
    }

    /// Begins a move, and returns its number. `None`: its tables are as they are wanted.
    ///
    /// # Errors
    /// Why that can't be, and what to do.
    pub async fn begin(self: &Arc<Self>, request: Request) -> Result<Option<u64>, Failure> {
        self.begin_apart(Wanted::Tables(request)).await
    }

    /// Begins a move of a database to another layout, and returns its number. `None`: it is as it is wanted, or had no table to move.
    ///
    /// # Errors
    /// Why that can't be, and what to do.
    pub async fn begin_layout(self: &Arc<Self>, wanted: WantedLayout) -> Result<Option<u64>, Failure> {
        self.begin_apart(Wanted::Layout(wanted)).await
    }

    async fn begin_apart(self: &Arc<Self>, wanted: Wanted) -> Result<Option<u64>, Failure> {
        let mover = self.clone();
        self.sharding.own.clone().apart(async move { mover.begin_here(wanted).await }).await
    }

    async fn begin_here(self: &Arc<Self>, wanted: Wanted) -> Result<Option<u64>, Failure> {
        let objects = wanted.objects();
        for _ in 0..ATTEMPTS {
            self.finish_before(&objects).await?;
            let _taken = self.sharding.definitions.take(&objects).await;
            let version = self.sharding.catalog().version;
            in_the_way(&self.sharding.catalog(), &objects)?;
            let Some(new) = wanted.judge(&self.sharding).await? else { return Ok(None) };
            if let (true, Some(change)) = (new.tables.is_empty(), new.layout.clone()) {
                match self.lay_out_empty(version, change).await? {
                    true => return Ok(None),
                    false => continue,
                }
            }
            let (told, number) = std::sync::mpsc::channel();
            let begun = self.change(move |catalog| {
                if catalog.version == version {
                    // The receiver lives as long as the future that awaits this.
                    let _ = told.send(catalog.begin_move(new));
                }
                Ok(())
            });
            begun.await?;
            if let Ok(id) = number.try_recv() {
                tracing::info!(id, by = wanted.by(), tables = ?objects, "a move was begun");
                self.run(id);
                return Ok(Some(id));
            }
        }
        let message = "Definitions have changed the tables meanwhile; try again";
        Err(Failure::weir(codes::ER_TABLE_DEF_CHANGED, message))
    }

    /// Gives a database another layout that no table has to move for, if the catalog is still of this version. Whether it was.
    async fn lay_out_empty(self: &Arc<Self>, version: u64, change: LayoutChange) -> Result<bool, Failure> {
        if self.is_elsewhere() {
            let message = "Another process of this Weir still serves sessions; try again when it has ended";
            return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, message));
        }
        layout::make_database(&self.sharding, &change).await?;
        let catalog = self.sharding.catalog_now();
        let sides = Sides::between(&change.database, &catalog, &layout::settled(&catalog, &change, &[]));
        carry::give(&self.sharding, &sides, None).await?;
        let (told, done) = std::sync::mpsc::channel();
        let changed = self.change(move |catalog| {
            if catalog.version == version
                && let Some(database) = catalog.databases.get_mut(&change.database)
            {
                *database = Arc::new(change.to.apply(database));
                // The receiver lives as long as the future that awaits this.
                let _ = told.send(());
            }
            Ok(())
        });
        changed.await?;
        let is_done = done.try_recv().is_ok();
        if is_done {
            carry::begin_events(&self.sharding, &sides).await?;
        }
        Ok(is_done)
    }

    /// A new placement of tables that have moved ends the possibility to undo that.
    async fn finish_before(self: &Arc<Self>, objects: &[Object]) -> Result<(), Failure> {
        loop {
            let catalog = self.sharding.catalog_now();
            let known = catalog.move_in_the_way(objects);
            let Some(known) = known.filter(|known| known.phase == MovePhase::Reverse && !known.undo) else {
                return Ok(());
            };
            self.finish_and_wait(known.id).await?;
        }
    }

    /// Drops the old tables of a move that has cut over, and waits until they are gone.
    ///
    /// # Errors
    /// As [`Mover::finish`]; why they could not be dropped.
    pub async fn finish_and_wait(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.finish(id).await?;
        self.wait_for(id, |phase| phase.has_ended()).await
    }

    /// Waits until a move has cut over. Cancel-safe.
    ///
    /// # Errors
    /// 1105 when there is no such move.
    pub async fn wait(&self, id: u64) -> Result<Waited, Failure> {
        match self.wait_for(id, MovePhase::is_cut_over).await {
            Ok(()) => Ok(Waited::Done),
            Err(failure) => Ok(Waited::Stopped(failure)),
        }
    }

    async fn wait_for(&self, id: u64, reached: impl Fn(MovePhase) -> bool) -> Result<(), Failure> {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            let catalog = self.sharding.catalog_now();
            let Some(known) = catalog.move_by_id(id) else { return Err(no_such(id)) };
            if reached(known.phase) {
                return Ok(());
            }
            let error = known.error.clone();
            if known.phase.has_ended() || known.paused && error.is_some() {
                let what = if known.phase.has_ended() { known.phase.name() } else { "paused" };
                let why = error.unwrap_or_else(|| "by a command".to_owned());
                let message = format!("Move {id} of {} is {what}: {why}", known.names());
                return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, message));
            }
            if changes.changed().await.is_err() {
                return Err(no_such(id));
            }
        }
    }

    /// Changes the catalog, and has everybody look.
    pub(crate) async fn change(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Arc<Catalog>, Failure> {
        let changed = self.sharding.change(move |now| {
            let mut next = now.clone();
            change(&mut next)?;
            Ok(next)
        });
        let changed = changed.await;
        self.look();
        changed
    }

    /// Changes a move's record.
    ///
    /// # Errors
    /// 1105 when there is no such move; that of `change`.
    pub(crate) async fn change_move(
        &self,
        id: u64,
        change: impl FnOnce(&mut Move) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Arc<Catalog>, Failure> {
        self.change(move |catalog| change(catalog.move_by_id_mut(id).ok_or_else(|| no_such(id))?)).await
    }

    /// Something is worth a look.
    pub(crate) fn look(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// What is known of a move that runs.
    pub(crate) fn running(&self, id: u64) -> Option<Arc<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// A move's task, unless there is one.
    fn run(self: &Arc<Self>, id: u64) {
        let running =
            Arc::new(Running { controls: Arc::default(), compare: AtomicBool::new(false), seen: Mutex::default() });
        {
            let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if all.contains_key(&id) {
                return;
            }
            all.insert(id, running.clone());
        }
        let mover = self.clone();
        self.sharding.own.behind(async move {
            drive::drive(&mover, id, &running).await;
            mover.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            mover.look();
        });
    }
}

/// What a move is asked for.
enum Wanted {
    Tables(Request),
    Layout(WantedLayout),
}

impl Wanted {
    fn objects(&self) -> Vec<Object> {
        match self {
            Wanted::Tables(request) => request.tables.iter().map(|table| table.object.clone()).collect(),
            Wanted::Layout(wanted) => vec![Object::database(wanted.database.clone())],
        }
    }

    fn by(&self) -> &str {
        match self {
            Wanted::Tables(Request { by, .. }) | Wanted::Layout(WantedLayout { by, .. }) => by,
        }
    }

    async fn judge(&self, sharding: &Arc<Sharding>) -> Result<Option<Move>, Failure> {
        match self {
            Wanted::Tables(request) => judge(sharding, request).await,
            Wanted::Layout(wanted) => layout::judge(sharding, wanted).await,
        }
    }
}

impl Running {
    /// What it does now.
    pub(crate) fn says(&self, state: impl Into<String>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).state = state.into();
    }
}

/// Refuses what another move, or a definition, has not ended with.
pub(crate) fn in_the_way(catalog: &Catalog, objects: &[Object]) -> Result<(), Failure> {
    if let Some(other) = catalog.move_in_the_way(objects) {
        return Err(not_supported(format!("Move {} of {} is in progress: {}", other.id, other.names(), way_on(other))));
    }
    if let Some(other) = catalog.definition_in_the_way(objects) {
        return Err(not_supported(format!(
            "Definition {} has not ended: WEIR RESUME DDL {} or WEIR CANCEL DDL {} first",
            other.id, other.id, other.id
        )));
    }
    Ok(())
}

/// What can be done about a move that stands in the way.
fn way_on(known: &Move) -> String {
    let id = known.id;
    match known.phase {
        MovePhase::Reverse => format!("WEIR MOVE FINISH {id} ends it, WEIR MOVE UNDO {id} takes it back"),
        _ => format!("wait for its end, or WEIR MOVE CANCEL {id}"),
    }
}

pub(crate) fn no_such(id: u64) -> Failure {
    Failure::client(codes::ER_UNKNOWN_ERROR, format!("There is no move {id}: see WEIR SHOW MOVES"))
}
