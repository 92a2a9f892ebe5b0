//! Lanes: server connections that the short reads of many sessions share (design, sections 2.3 and 4).
//!
//! [`learn`] says which digests may ride, [`lane`] carries statements, [`pace`] says how many lanes there are, and this
//! module opens and closes them. What must always hold: a lane has the profile of all sessions whose statements ride it,
//! and is logged in as their user; lanes take at most half of the connections that a server or a user may have, so that
//! what can't ride is never starved; lanes belong to one worker.

mod in_flight;
mod lane;
pub mod learn;
pub mod pace;
mod ride;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use lru::LruCache;
use tokio::sync::Notify;
use weir_wire::Failure;
use weir_wire::auth::Password;
use weir_wire::error::codes;

use in_flight::Counted;
pub use lane::Lane;
use lane::LaneEnd;
pub use learn::SharedLearnt;
use learn::{Rode, Run, SHORT_TIME, Scale, Unfit};
use pace::{Pace, Window};
pub use ride::{Arrived, Elsewhere, Ride};

use crate::connect::Login;
use crate::counts::LaneCounts;
use crate::kill::{Kill, kill};
use crate::metrics::Metrics;
use crate::pool::{GivesWay, Pool, Request};
use crate::pool_key::PoolKey;
use crate::profile::SharedProfile;
use crate::pulse::Delays;

/// Digests whose fitness is remembered, per group of lanes.
const MOST_DIGESTS: usize = 4096;
/// The largest command that rides, in bytes.
pub const MAX_COMMAND: usize = 16 * 1024;
/// How often lanes are checked.
const TICK: Duration = Duration::from_millis(25);
/// Ticks to a window of [`pace`].
const TICKS_PER_WINDOW: u32 = 4;
/// A lane that nobody has used for so long gives its connection back.
const IDLE: Duration = Duration::from_secs(5);
/// A turn of the worker that comes later than this was held up.
const LATE: Duration = Duration::from_millis(2);
/// How often what trivial statements take is looked up.
const SCALE_AGE: Duration = Duration::from_millis(20);
/// How much longer a head may hold its line up when nobody can tell whether the server answers others.
const UNKNOWN: u32 = 4;
/// No lane is tried to be opened for so long after one could not be.
const RETRY: Duration = Duration::from_secs(1);

/// Bounds of lanes.
#[derive(Debug, Clone)]
pub struct LaneSettings {
    /// Whether there are lanes at all.
    pub enabled: bool,
    /// The most lanes to one server, over all workers and users.
    pub max_lanes: usize,
    /// The most statements in flight on one lane.
    pub max_depth: usize,
    /// A statement that holds a lane up for longer has the others sent elsewhere.
    pub stall_timeout: Duration,
}

/// The lanes of the sessions with one user, profile and capabilities.
#[derive(Debug)]
pub struct Group {
    key: PoolKey,
    /// The profile, without user variables: what rides uses none.
    profile: SharedProfile,
    /// The part of it that decides how texts are prepared.
    pub parsing: SharedProfile,
    lanes: RefCell<Vec<Rc<Lane>>>,
    opening: Cell<bool>,
    not_before: Cell<Option<Instant>>,
    pace: RefCell<Pace>,
    counted: Rc<Counted>,
    digests: RefCell<LruCache<u128, SharedLearnt>>,
    all: Weak<Lanes>,
}

/// By the pool's key and the profile's hash.
type Groups = HashMap<(PoolKey, u64), Vec<Rc<Group>>>;

/// The lanes of a worker to one server.
#[derive(Debug)]
pub struct Lanes {
    pool: Rc<Pool>,
    settings: LaneSettings,
    metrics: Metrics,
    groups: RefCell<Groups>,
    open: Cell<usize>,
    workers: usize,
    opened: Notify,
    /// Replies, writes and summed depths of the windows of the last second.
    recent: Cell<(u64, u64, u64)>,
    shown: Cell<(f64, f64)>,
    stalls: Cell<usize>,
    /// The turns that this worker took late: it could neither send nor read.
    late: RefCell<Delays>,
    /// When the next turn is due.
    due: Cell<Option<Instant>>,
    /// By what runs are judged, and since when.
    scale: Cell<Option<(Instant, Scale)>>,
}

impl Lanes {
    /// No lanes yet, to the server of `pool`, on one of `workers` workers.
    pub fn new(pool: Rc<Pool>, settings: LaneSettings, workers: usize, metrics: Metrics) -> Rc<Lanes> {
        let lanes = Rc::new(Lanes {
            pool,
            settings,
            metrics,
            groups: RefCell::default(),
            open: Cell::new(0),
            workers,
            opened: Notify::new(),
            recent: Cell::default(),
            shown: Cell::default(),
            stalls: Cell::default(),
            late: RefCell::default(),
            due: Cell::default(),
            scale: Cell::default(),
        });
        let itself: Weak<Lanes> = Rc::downgrade(&lanes);
        lanes.pool.set_lanes(itself);
        lanes
    }

    /// The most lanes of this worker. The limits of connections may change.
    fn budget(&self) -> usize {
        let limit = self.pool.server.limits.max_per_user();
        if self.settings.enabled { self.settings.max_lanes.min(limit / 2) / self.workers.max(1) } else { 0 }
    }

    /// Whether statements may ride at all.
    pub fn enabled(&self) -> bool {
        self.budget() > 0
    }

    /// Records how a statement ran on a connection of its own.
    pub fn note_run(&self, learnt: &SharedLearnt, mut run: Run) {
        let mut state = learnt.get();
        if state.rides() {
            return;
        }
        let now = Instant::now();
        if run.is_fit() && run.time > SHORT_TIME {
            self.pool.server.pulse.ask();
            run = run.among(self.pool.busy());
        }
        state.ran(run, self.scale(now), now);
        learnt.set(state);
    }

    /// Takes down how a statement rode a lane.
    pub fn note_ride(&self, learnt: &SharedLearnt, arrived: &Arrived, bytes: u64) {
        let mut state = learnt.get();
        let mut work = arrived.time;
        if work > SHORT_TIME {
            let since = arrived.at.checked_sub(work).unwrap_or(arrived.at);
            work = work.saturating_sub(self.held_up(since, arrived.at));
        }
        state.rode(Rode { work, bytes }, self.scale(arrived.at), arrived.at);
        learnt.set(state);
    }

    /// Takes down that a statement had to leave its lane.
    pub fn note_unfit(&self, learnt: &SharedLearnt, why: Unfit) {
        let mut state = learnt.get();
        state.unfit(why);
        learnt.set(state);
    }

    /// How much of the time from `since` to `now` the server answered nobody, or this worker had no turn.
    fn held_up(&self, since: Instant, now: Instant) -> Duration {
        let late = self.late.borrow().within(since, now);
        let overdue = self.due.get().map_or(Duration::ZERO, |due| now.saturating_duration_since(due.max(since)));
        self.pool.server.pulse.waited(since, now).max(late + overdue)
    }

    fn scale(&self, now: Instant) -> Scale {
        if let Some((since, scale)) = self.scale.get()
            && now.saturating_duration_since(since) < SCALE_AGE
        {
            return scale;
        }
        let scale = Scale::new(self.pool.server.pulse.least(), self.settings.stall_timeout);
        self.scale.set(Some((now, scale)));
        scale
    }

    /// The group of sessions with this key and profile.
    pub fn group(self: &Rc<Self>, key: &PoolKey, profile: &SharedProfile) -> Rc<Group> {
        let profile =
            if profile.has_user_variables() { Rc::new(profile.without_user_variables()) } else { profile.clone() };
        let mut groups = self.groups.borrow_mut();
        let same_hash = groups.entry((key.clone(), profile.key())).or_default();
        if let Some(group) = same_hash.iter().find(|group| *group.profile == *profile) {
            return group.clone();
        }
        let group = Rc::new(Group {
            key: key.clone(),
            parsing: Rc::new(profile.parsing()),
            profile,
            lanes: RefCell::default(),
            opening: Cell::new(false),
            not_before: Cell::new(None),
            pace: RefCell::default(),
            counted: Rc::default(),
            // Bounded where it grows: a bounded one has room for all from the start.
            digests: RefCell::new(LruCache::unbounded()),
            all: Rc::downgrade(self),
        });
        same_hash.push(group.clone());
        group
    }

    /// Numbers for display.
    pub fn counts(&self) -> LaneCounts {
        let groups = self.groups.borrow();
        let in_flight = groups.values().flatten().flat_map(|group| depths(group)).sum();
        let (depth, batch) = self.shown.get();
        LaneCounts { lanes: self.open.get(), in_flight, depth, batch, stalls: self.stalls.get() }
    }

    /// Counts a statement that left its lane because one before it held it up.
    pub fn count_stall(&self) {
        self.metrics.lane_stalls.inc();
        self.stalls.set(self.stalls.get() + 1);
    }

    async fn open(self: Rc<Self>, group: Rc<Group>, password: Password) {
        match self.try_open(&group, &password).await {
            Ok(lane) => {
                self.metrics.lanes_opened.inc();
                self.open.set(self.open.get() + 1);
                group.lanes.borrow_mut().push(lane.clone());
                group.opening.set(false);
                self.opened.notify_one();
                self.serve(group, lane, password).await;
            }
            Err(error) => {
                tracing::debug!(%error, "a lane could not be opened");
                group.not_before.set(Some(Instant::now() + RETRY));
                group.opening.set(false);
            }
        }
    }

    async fn try_open(&self, group: &Group, password: &Password) -> Result<Rc<Lane>, Failure> {
        let request =
            Request { key: &group.key, password, profile: &group.profile, patient: true, may_lack_database: false };
        // In the pool's queue like everybody else: when all connections are busy, a lane is what helps most.
        let mut lease = self.pool.lend(request).await?;
        lease.queue_state(&group.profile, true)?;
        lease.flush().await?;
        lease.confirm_state().await?;
        if lease.profile().database != group.profile.database {
            // What statements hear outside of their session's database is not for a lane to tell.
            return Err(Failure::weir(codes::ER_BAD_DB_ERROR, "The default database can't be entered"));
        }
        Ok(Lane::new(lease, group.counted.clone()))
    }

    async fn serve(&self, group: Rc<Group>, lane: Rc<Lane>, password: Password) {
        let end = lane.run().await;
        self.open.set(self.open.get() - 1);
        self.metrics.lanes_closed.inc();
        group.lanes.borrow_mut().retain(|other| !Rc::ptr_eq(other, &lane));
        if end == LaneEnd::Abandoned {
            self.metrics.lane_kills.inc();
            let capabilities = weir_wire::Capabilities::empty();
            let login = Login { user: group.key.user.clone(), password, database: None, capabilities };
            if let Err(error) = kill(&self.pool.server, &login, lane.thread_id, Kill::Connection).await {
                tracing::debug!(%error, thread = lane.thread_id, "a statement that nobody waits for was not killed");
            }
        }
    }

    /// Watches over the lanes: for as long as the worker runs.
    pub async fn look_after(self: Rc<Self>) {
        let mut tick = 0_u32;
        let mut window = Instant::now();
        loop {
            if self.open.get() == 0 {
                // What the last lanes carried is told before their groups are forgotten.
                self.end_window(window.elapsed().as_secs_f64());
                self.show();
                self.forget_groups();
                self.shown.set((0.0, 0.0));
                self.opened.notified().await;
                window = Instant::now();
            }
            let now = self.tick().await;
            self.check_all(now);
            tick = tick.wrapping_add(1);
            if tick.is_multiple_of(TICKS_PER_WINDOW) {
                self.end_window(now.saturating_duration_since(window).as_secs_f64());
                window = now;
                if tick.is_multiple_of(TICKS_PER_WINDOW * 10) {
                    self.show();
                    self.forget_groups();
                }
            }
        }
    }

    /// Waits for the next tick, and takes down by how much it is late.
    async fn tick(&self) -> Instant {
        let due = Instant::now() + TICK;
        self.due.set(Some(due + LATE));
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        self.due.set(None);
        if now > due + LATE {
            let mut late = self.late.borrow_mut();
            late.begin(due);
            late.end(now);
        }
        now
    }

    /// Forgets the groups that no session and no lane has: settings that change all the time must not fill the memory.
    fn forget_groups(&self) {
        self.groups.borrow_mut().retain(|_, groups| {
            groups.retain(|group| Rc::strong_count(group) > 1);
            !groups.is_empty()
        });
    }

    fn check_all(&self, now: Instant) {
        let gone = self.pool.server.refusal().is_some();
        let waited_for = self.pool.is_waited_for();
        let mut busy = false;
        for group in self.groups.borrow().values().flatten() {
            for lane in group.lanes.borrow().iter() {
                if gone {
                    lane.give_up();
                    continue;
                }
                if let Some(since) = lane.head_since() {
                    busy = true;
                    if self.holds_up(since, now) {
                        lane.overdue(since);
                    }
                }
                let idle = lane.idle_for(now);
                let not_needed = idle.is_some_and(|time| time > if waited_for { TICK * 2 } else { IDLE });
                if not_needed || lane.is_outdated() {
                    lane.retire();
                }
                if lane.is_condemned() {
                    // Its head may have been let go of.
                    lane.wake();
                }
            }
        }
        if busy {
            self.pool.server.pulse.ask();
        }
    }

    /// Whether a command that has been the head of its line since then holds the others up, and not the server or this
    /// worker all of them.
    fn holds_up(&self, since: Instant, now: Instant) -> bool {
        let waited = now.saturating_duration_since(since);
        let bound = self.scale(now).stall;
        waited > bound
            && match self.pool.server.pulse.has_answered(since, now) {
                Some(answers) => answers && waited.saturating_sub(self.held_up(since, now)) > bound,
                None => waited > bound * UNKNOWN,
            }
    }

    fn end_window(&self, seconds: f64) {
        for group in self.groups.borrow().values().flatten() {
            let Counted { replies, writes, depths, full } = &*group.counted;
            let (replies, writes, depths, full) = (replies.take(), writes.take(), depths.take(), full.take());
            let (r, w, d) = self.recent.get();
            self.recent.set((r + replies, w + writes, d + depths));
            let lanes = group.lanes.borrow();
            if lanes.is_empty() {
                continue;
            }
            let depth = if writes == 0 { 0.0 } else { depths as f64 / writes as f64 };
            group
                .pace
                .borrow_mut()
                .observe(Window { rate: replies as f64 / seconds.max(1e-3), depth, full }, self.budget());
        }
    }

    fn show(&self) {
        let (replies, writes, depths) = self.recent.take();
        self.metrics.lane_writes.inc_by(writes);
        self.metrics.lane_depths.inc_by(depths);
        let writes = writes.max(1) as f64;
        self.shown.set((depths as f64 / writes, replies as f64 / writes));
    }
}

impl GivesWay for Lanes {
    fn give_way(&self) -> bool {
        let groups = self.groups.borrow();
        let mut lanes = groups.values().flatten().flat_map(|group| group.lanes.borrow().clone());
        let idle = lanes.find(|lane| lane.is_open() && lane.depth() == 0);
        if let Some(lane) = &idle {
            lane.retire();
        }
        idle.is_some()
    }
}

fn depths(group: &Group) -> Vec<usize> {
    group.lanes.borrow().iter().map(|lane| lane.depth()).collect()
}

impl Group {
    /// What is known of a digest.
    pub fn learnt(&self, digest: u128) -> SharedLearnt {
        let mut digests = self.digests.borrow_mut();
        let learnt = digests.get_or_insert(digest, SharedLearnt::default).clone();
        if digests.len() > MOST_DIGESTS {
            digests.pop_lru();
        }
        learnt
    }

    /// A lane that takes a statement, the one with the fewest in flight; asks for another to be opened when there
    /// should be more. `None`: the statement takes a connection of its own.
    pub fn lane(self: &Rc<Self>, password: &Password) -> Option<Rc<Lane>> {
        let all = self.all.upgrade()?;
        let lanes = self.lanes.borrow();
        let wanted = self.pace.borrow().wanted();
        for lane in lanes.iter().filter(|lane| lane.is_open() && lane.is_outdated()) {
            lane.retire();
        }
        // Those beyond are kept for a while: a trial may use them again.
        let open = || lanes.iter().filter(|lane| lane.is_open()).take(wanted);
        if open().count() < wanted {
            self.open_another(&all, password);
        }
        let best = open().min_by_key(|lane| lane.depth())?;
        if best.depth() >= all.settings.max_depth {
            self.counted.full.set(true);
            return None;
        }
        Some(best.clone())
    }

    fn open_another(self: &Rc<Self>, all: &Rc<Lanes>, password: &Password) {
        let too_early = || self.not_before.get().is_some_and(|time| Instant::now() < time);
        if self.opening.get() || all.open.get() >= all.budget() || too_early() {
            return;
        }
        self.opening.set(true);
        tokio::task::spawn_local(all.clone().open(self.clone(), password.clone()));
    }
}
