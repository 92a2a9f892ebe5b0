//! Where a statement of one server runs: on the session's connection, on its shard's writer, or, for a read that may, on a replica
//! (design, section 8).
//!
//! What must always hold: the decision is a pure function. Only a plain read of a session that is bound to nothing leaves the writer, or
//! the first read of a READ ONLY transaction, which then stays where it began.

use weir_sql::{Class, Effects, Pins, RoutingHint, TextKind};
use weir_topology::Level;
use weir_wire::Failure;

use super::decide::not_on_replica;
use crate::session::transaction::{kind::Joins, writes_in_read_only};

/// A server answers for reads of one kind for all.
const ELSEWHERE: Effects = Effects::READS.union(Effects::USES_USER_VARIABLES);

/// Where a statement runs.
#[derive(Debug, PartialEq)]
pub(in crate::session) enum Place {
    /// Where the command was aimed at: on the writer, unless the session's connection is elsewhere.
    Target,
    /// On the session's connection.
    Connection,
    /// On the session's connection, whose latest statement it asks about.
    Diagnostics,
    /// On another shard, which takes part in the transaction.
    Join(Joins),
    /// On a replica, or on the writer if no replica has what the session must find.
    Read(ReadPlace),
    /// On another shard, where the session can't go.
    Elsewhere,
    /// Nowhere.
    Refused(Failure),
}

/// How a read chooses its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct ReadPlace {
    /// How fresh it has to be.
    pub(in crate::session) level: Level,
    /// It asks for a replica.
    pub(in crate::session) wanted: bool,
    /// It reads nothing that a server could be behind with.
    pub(in crate::session) timeless: bool,
}

/// What decides besides the statement.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct PlaceFacts {
    pub(in crate::session) mariadb: bool,
    /// The shard that the statement is for, if something says so.
    pub(in crate::session) wanted_shard: Option<usize>,
    /// The shard of the session's connection, if it has one.
    pub(in crate::session) connection: Option<usize>,
    /// The session is bound to its connection.
    pub(in crate::session) bound: bool,
    /// Only its transaction binds it, and other shards may take part in that.
    pub(in crate::session) may_change_shard: bool,
    /// A replica serves its READ ONLY transaction.
    pub(in crate::session) on_replica: bool,
    /// Reads of the statement's shard may go to replicas.
    pub(in crate::session) splits: bool,
    pub(in crate::session) level: Level,
    /// A transaction has begun of which no server has heard.
    pub(in crate::session) begun_here: bool,
    /// SET TRANSACTION has said something of the next transaction, of which no server has heard.
    pub(in crate::session) announced: bool,
    /// The next read needs nothing of the session's connection or transaction.
    pub(in crate::session) may_leave_writer: bool,
    /// The default database is the server's own.
    pub(in crate::session) in_servers_schema: bool,
}

impl PlaceFacts {
    fn is_elsewhere(&self) -> bool {
        self.wanted_shard.is_some_and(|wanted| self.connection.is_some_and(|there| there != wanted))
    }

    /// For a session that stays where it is: its connection, or another shard's in the same transaction.
    fn stays(&self, joins: Joins) -> Place {
        match (self.is_elsewhere(), self.may_change_shard) {
            (true, true) => Place::Join(joins),
            (true, false) => Place::Elsewhere,
            (false, _) => Place::Connection,
        }
    }
}

/// Decides where a statement runs.
pub(in crate::session) fn place(class: &Class, hint: Option<RoutingHint>, facts: &PlaceFacts) -> Place {
    let joins = match class.effects.contains(Effects::WRITES) {
        true => Joins::First,
        false => Joins::WithStatement,
    };
    if facts.on_replica {
        return match (facts.stays(joins), refused_on_replica(class, facts.mariadb)) {
            (Place::Connection, Some(failure)) => Place::Refused(failure),
            (place, _) => place,
        };
    }
    if facts.bound {
        return if facts.connection.is_some() { facts.stays(joins) } else { Place::Target };
    }
    if class.effects.contains(Effects::USES_WARNINGS) && facts.connection.is_some() && !facts.is_elsewhere() {
        return Place::Diagnostics;
    }
    match level_of_read(class, hint, facts) {
        Some(level) if facts.splits && !facts.announced => Place::Read(ReadPlace {
            level,
            wanted: hint == Some(RoutingHint::Replica),
            // The first statement of a transaction decides for all of it.
            timeless: !class.effects.contains(Effects::READS) && !facts.begun_here,
        }),
        _ => Place::Target,
    }
}

/// The level at which a read of several shards may go to replicas, if it may: outside of transactions, of a session that is bound to
/// nothing.
pub(in crate::session) fn level_of_multi_shard_read(
    class: &Class,
    hint: Option<RoutingHint>,
    facts: &PlaceFacts,
) -> Option<Level> {
    let free = !facts.bound && !facts.on_replica && !facts.begun_here;
    level_of_read(class, hint, facts).filter(|_| free)
}

/// Whether a read must not miss what the session has seen of unfinished commits: what locks or writes meets their locks, and SHOW WARNINGS
/// reads no rows. MariaDB has no way to wait for them.
pub(in crate::session) fn must_be_exact(class: &Class, facts: &PlaceFacts) -> bool {
    let reads = class.effects.contains(Effects::READS) && !class.effects.contains(Effects::WRITES);
    let reads = reads && !matches!(class.kind, TextKind::ShowWarnings(_));
    reads && !matches!(facts.level, Level::Eventual | Level::Primary) && !facts.mariadb
}

/// The level at which a statement may be read elsewhere than on the writer, if it may.
fn level_of_read(class: &Class, hint: Option<RoutingHint>, facts: &PlaceFacts) -> Option<Level> {
    let level = match (hint, facts.level) {
        (Some(RoutingHint::Primary), _) | (None, Level::Primary) => return None,
        (Some(RoutingHint::Replica), Level::Primary) => Level::Session,
        (_, level) => level,
    };
    let asked_for = hint == Some(RoutingHint::Replica);
    let allowed = if asked_for { ELSEWHERE | Effects::SERVER_STATE } else { ELSEWHERE };
    let may = class.is_plain_read() && (class.effects - allowed).is_empty();
    (may && facts.may_leave_writer && (asked_for || !facts.in_servers_schema)).then_some(level)
}

/// In a READ ONLY transaction that a replica serves, what belongs to the writer or would bind the session to the replica is refused,
/// and writes as the writer would refuse them.
fn refused_on_replica(class: &Class, mariadb: bool) -> Option<Failure> {
    let begins = matches!(class.kind, TextKind::Begin { .. });
    if begins || class.effects.contains(Effects::STARTS_TRANSACTION_OTHER) {
        return None;
    }
    let stays = !(class.pins - (Pins::FOUND_ROWS | Pins::ROW_COUNT)).is_empty();
    if stays || class.effects.intersects(Effects::LOCKING_READ | Effects::CHANGES_GLOBALS) {
        return Some(not_on_replica());
    }
    class.effects.intersects(Effects::WRITES | Effects::IMPLICIT_COMMIT).then(|| writes_in_read_only(mariadb))
}

#[cfg(test)]
mod tests {
    use weir_sql::{LexMode, classify};

    use super::*;

    const FREE: PlaceFacts = PlaceFacts {
        mariadb: false,
        wanted_shard: None,
        connection: None,
        bound: false,
        may_change_shard: false,
        on_replica: false,
        splits: true,
        level: Level::Session,
        begun_here: false,
        announced: false,
        may_leave_writer: true,
        in_servers_schema: false,
    };

    fn told(text: &str, hint: Option<RoutingHint>, facts: PlaceFacts) -> String {
        match place(&classify(text.as_bytes(), LexMode::default()), hint, &facts) {
            Place::Refused(failure) => format!("error {}", failure.code),
            Place::Read(read) => {
                let timeless = if read.timeless { ", timeless" } else { "" };
                format!("read at {}{}{timeless}", read.level.name(), if read.wanted { ", wanted" } else { "" })
            }
            place => format!("{place:?}"),
        }
    }

    #[test]
    fn reads_leave_the_writer_only_if_nothing_is_missed_there() {
        let primary = PlaceFacts { level: Level::Primary, ..FREE };
        let whole = PlaceFacts { splits: false, ..FREE };
        let kept = PlaceFacts { may_leave_writer: false, ..FREE };
        let own = PlaceFacts { in_servers_schema: true, ..FREE };
        let begun = PlaceFacts { begun_here: true, ..FREE };
        let cases = [
            ("SELECT * FROM t", None, FREE, "read at session"),
            ("SELECT * FROM t", Some(RoutingHint::Primary), FREE, "Target"),
            ("SELECT * FROM t", None, primary, "Target"),
            ("SELECT * FROM t", Some(RoutingHint::Replica), primary, "read at session, wanted"),
            ("SELECT * FROM t", None, whole, "Target"),
            ("SELECT * FROM t", None, kept, "Target"),
            ("SELECT * FROM t", None, own, "Target"),
            ("SELECT 1", None, FREE, "read at session, timeless"),
            ("SELECT 1", None, begun, "read at session"),
            ("SELECT * FROM t FOR UPDATE", None, FREE, "Target"),
            ("INSERT INTO t VALUES (1)", None, FREE, "Target"),
            ("SHOW WARNINGS", None, PlaceFacts { connection: Some(0), ..FREE }, "Diagnostics"),
            ("SHOW WARNINGS", None, FREE, "Target"),
        ];
        for (text, hint, facts, wanted) in cases {
            assert_eq!(told(text, hint, facts), wanted, "{text} {facts:?}");
        }
    }

    #[test]
    fn reads_of_several_shards_leave_the_writers_outside_of_transactions_only() {
        let bound = PlaceFacts { connection: Some(0), bound: true, ..FREE };
        let begun = PlaceFacts { begun_here: true, ..FREE };
        let on_replica = PlaceFacts { on_replica: true, ..FREE };
        let strong = PlaceFacts { level: Level::Strong, ..FREE };
        let primary = PlaceFacts { level: Level::Primary, ..FREE };
        let cases = [
            ("SELECT * FROM t", None, FREE, Some(Level::Session)),
            ("SELECT * FROM t", None, strong, Some(Level::Strong)),
            ("SELECT * FROM t", None, primary, None),
            ("SELECT * FROM t", Some(RoutingHint::Replica), primary, Some(Level::Session)),
            ("SELECT * FROM t", Some(RoutingHint::Primary), FREE, None),
            ("SELECT * FROM t FOR SHARE", None, FREE, None),
            ("SELECT * FROM t", None, bound, None),
            ("SELECT * FROM t", None, begun, None),
            ("SELECT * FROM t", None, on_replica, None),
        ];
        for (text, hint, facts, wanted) in cases {
            let class = classify(text.as_bytes(), LexMode::default());
            assert_eq!(level_of_multi_shard_read(&class, hint, &facts), wanted, "{text} {facts:?}");
        }
    }

    #[test]
    fn a_bound_session_stays_or_takes_shards_into_its_transaction() {
        let bound = PlaceFacts { connection: Some(0), bound: true, ..FREE };
        let in_transaction = PlaceFacts { may_change_shard: true, ..bound };
        let on_replica = PlaceFacts { on_replica: true, ..in_transaction };
        let to = |wanted, facts| PlaceFacts { wanted_shard: Some(wanted), ..facts };
        let cases = [
            ("SELECT * FROM t", bound, "Connection"),
            ("SELECT * FROM t", to(0, bound), "Connection"),
            ("SELECT * FROM t", to(1, bound), "Elsewhere"),
            ("SELECT * FROM t", to(1, in_transaction), "Join(WithStatement)"),
            ("UPDATE t SET a = 1", to(1, in_transaction), "Join(First)"),
            ("SELECT * FROM t", PlaceFacts { connection: None, ..bound }, "Target"),
            ("SELECT * FROM t", on_replica, "Connection"),
            ("SELECT * FROM t", to(1, on_replica), "Join(WithStatement)"),
            ("UPDATE t SET a = 1", on_replica, "error 1792"),
            ("SELECT * FROM t FOR UPDATE", on_replica, "error 1235"),
            ("SELECT GET_LOCK('a', 1)", on_replica, "error 1235"),
        ];
        for (text, facts, wanted) in cases {
            assert_eq!(told(text, None, facts), wanted, "{text} {facts:?}");
        }
    }
}
