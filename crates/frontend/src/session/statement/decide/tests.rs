//! Courses by table: no server is needed to know where a statement runs.

use weir_catalog::ShardId;
use weir_plan::{Plan, Route, Write, WriteKind};
use weir_sql::{Bump, Dialect, LexMode, classify};

use super::super::Text;
use super::*;

/// A session on MySQL that nothing binds, with sharded databases.
const FREE: Facts = Facts {
    mariadb: false,
    sharded: true,
    confined_to: None,
    in_transaction: false,
    begun_here: false,
    ended_by_hint: false,
    on_replica: false,
    autocommit: true,
    keeps_connection: false,
    begin_is_a_block: false,
    prepared_on_connection: false,
    many_shards: true,
    multi_shard: false,
    open: false,
    has_connection: false,
    pinned: false,
    movable: true,
    locks_tables: false,
    in_own_schema: false,
};

/// A session in a transaction with several participants.
const SEVERAL: Facts =
    Facts { multi_shard: true, open: true, in_transaction: true, has_connection: true, keeps_connection: true, ..FREE };

/// What a course is, in short.
fn told(course: &Course) -> String {
    match course {
        Course::OneServer(OneServer { shard, text, .. }) => {
            let place = shard.map_or("home".to_owned(), |shard| format!("shard {shard}"));
            text.as_ref().map_or(place.clone(), |text| format!("{place}: {}", String::from_utf8_lossy(text)))
        }
        Course::MultiShard(plan) => match &**plan {
            Plan::Write(Write { kind: WriteKind::Everywhere(shards, text), .. }) => {
                format!("write {shards:?}: {}", String::from_utf8_lossy(text))
            }
            Plan::Write(write) => format!("{:?}", write.kind),
            Plan::Read(read) => format!("read {:?} ({})", read.shards, read.parameters.len()),
            plan => format!("{plan:?}"),
        },
        Course::Answer(answer) => format!("{answer:?}"),
        Course::Transaction(act) => format!("{act:?}"),
        Course::SqlPrepare(request) => format!("{request:?}"),
        Course::Refuse(failure) => format!("error {}", failure.code),
    }
}

fn with_statement<T>(text: &str, facts: &Facts, decide: impl FnOnce(&Statement<'_>) -> T) -> T {
    let dialect = if facts.mariadb { Dialect::MariaDb } else { Dialect::MySql };
    let mode = LexMode { dialect, ..LexMode::default() };
    let class = classify(text.as_bytes(), mode);
    let arena = Bump::new();
    let form = Form::Text(Text { head: b"\x03", command: None, rides: None, hot: None });
    decide(&Statement::new(&arena, text.as_bytes(), &class, mode, form))
}

fn answered(text: &str, facts: &Facts) -> String {
    with_statement(text, facts, |statement| {
        answer(statement, facts).map_or("planned".to_owned(), |course| told(&course))
    })
}

fn planned(text: &str, facts: &Facts, plan: Plan) -> String {
    with_statement(text, facts, |statement| told(&by_plan(statement, facts, plan, None)))
}

fn route(shard: u16, text: Option<&str>) -> Plan {
    let text = text.map(|text| text.as_bytes().to_vec());
    Plan::Route(Route { shard: ShardId(shard), text, raise: None, reason: String::new() })
}

#[test]
fn weir_answers_what_no_server_has_to_hear() {
    let bound = Facts { keeps_connection: true, ..FREE };
    let begun = Facts { begun_here: true, in_transaction: true, ..FREE };
    let oracle = Facts { mariadb: true, begin_is_a_block: true, ..FREE };
    let cases = [
        ("BEGIN", FREE, "Begin(None)"),
        ("START TRANSACTION READ ONLY", FREE, "Begin(Some(true))"),
        // The server warns of the comment.
        ("BEGIN /*! */", FREE, "planned"),
        ("BEGIN", bound, "planned"),
        ("BEGIN", oracle, "planned"),
        ("COMMIT", begun, "End"),
        ("ROLLBACK", begun, "End"),
        ("COMMIT", FREE, "planned"),
        ("COMMIT", Facts { ended_by_hint: true, ..FREE }, "End"),
        ("ROLLBACK", Facts { ended_by_hint: true, ..FREE }, "End"),
        ("KILL 7", FREE, "Kill(Connection(7))"),
        ("SHOW FULL PROCESSLIST", FREE, "ProcessList { full: true }"),
        ("SELECT 1; KILL 7", FREE, "error 1235"),
        ("SET weir_consistency = 'strong'", FREE, "OwnVariable(Set(Ok((Consistency, Some(\"strong\")))))"),
        ("SELECT @@weir_shard", FREE, "OwnVariable(Read(Shard, \"@@weir_shard\"))"),
        ("SELECT @@version", FREE, "planned"),
        ("SELECT * FROM t WHERE id = 1", FREE, "planned"),
        ("SET autocommit = 0", FREE, "planned"),
    ];
    for (text, facts, course) in cases {
        assert_eq!(answered(text, &facts), course, "{text}");
    }
}

#[test]
fn statements_of_one_shard_go_there_or_beside_what_binds_the_session() {
    let confined = Facts { confined_to: Some(0), keeps_connection: true, ..FREE };
    let in_transaction = Facts { in_transaction: true, ..confined };
    let without_autocommit = Facts { autocommit: false, ..confined };
    let (select, update) = ("SELECT v FROM t WHERE id = 1", "UPDATE t SET v = 2 WHERE id = 1");
    let cases = [
        (select, FREE, route(1, None), "shard 1"),
        (select, FREE, route(1, Some("SELECT 1")), "shard 1: SELECT 1"),
        (select, confined, route(0, None), "shard 0"),
        (select, confined, route(1, None), "read [ShardId(1)] (0)"),
        (update, confined, route(1, None), "write [ShardId(1)]: UPDATE t SET v = 2 WHERE id = 1"),
        // There it is refused, as the session can't go there.
        (select, in_transaction, route(1, None), "shard 1"),
        (update, without_autocommit, route(1, None), "shard 1"),
        ("SELECT GET_LOCK('a', 1) FROM t WHERE id = 1", confined, route(1, None), "shard 1"),
        ("LOAD DATA LOCAL INFILE 'f' INTO TABLE t", confined, route(1, None), "shard 1"),
        (select, confined, Plan::Home, "home"),
        ("CREATE TABLE t (id INT)", FREE, Plan::Define, "Define"),
    ];
    for (text, facts, plan, course) in cases {
        assert_eq!(planned(text, &facts, plan), course, "{text} {facts:?}");
    }
}

#[test]
fn texts_prepared_by_sql_are_the_sessions_where_there_are_sharded_databases() {
    let plain = Facts { sharded: false, ..FREE };
    let on_connection = Facts { prepared_on_connection: true, ..FREE };
    let mariadb = Facts { mariadb: true, ..FREE };
    let cases = [
        (
            "PREPARE s FROM 'SELECT 1'",
            FREE,
            "Prepare { name: \"s\", source: [39, 83, 69, 76, 69, 67, 84, 32, 49, 39] }",
        ),
        ("PREPARE s FROM 'SELECT 1'", plain, "none"),
        (
            "EXECUTE known USING @A, @b",
            FREE,
            "Execute { name: \"known\", using: Some([Variable(\"a\"), Variable(\"b\")]) }",
        ),
        ("EXECUTE KNOWN", FREE, "Execute { name: \"KNOWN\", using: Some([]) }"),
        ("EXECUTE other", FREE, "error 1243"),
        ("EXECUTE other", on_connection, "none"),
        ("DEALLOCATE PREPARE other", FREE, "error 1243"),
        ("DROP PREPARE known", FREE, "Deallocate { name: \"known\" }"),
        ("EXECUTE IMMEDIATE @a", FREE, "none"),
        ("EXECUTE IMMEDIATE @a", mariadb, "Immediate { source: [64, 97], using: Some([]) }"),
        ("SELECT 1", FREE, "none"),
    ];
    for (text, facts, course) in cases {
        let decided = with_statement(text, &facts, |statement| sql_prepare(statement, &facts, |name| name == "known"));
        assert_eq!(decided.map_or("none".to_owned(), |course| told(&course)), course, "{text}");
    }
}

#[test]
fn what_a_statement_is_for_the_transaction_comes_before_its_course() {
    let on_replica = Facts { on_replica: true, open: true, in_transaction: true, ..FREE };
    let one_shard = Facts { many_shards: false, ..on_replica };
    let one_free = Facts { many_shards: false, ..FREE };
    let one_waits = Facts { autocommit: false, ..one_free };
    let bound = Facts { has_connection: true, keeps_connection: true, pinned: true, movable: false, ..FREE };
    let begun = Facts { begun_here: true, in_transaction: true, ..FREE };
    let open = Facts { multi_shard: false, ..SEVERAL };
    let pinned = Facts { pinned: true, movable: false, ..SEVERAL };
    let without_autocommit = Facts { autocommit: false, ..SEVERAL };
    let cases = [
        ("BEGIN", FREE, "forget", "Begin(None)"),
        ("BEGIN", SEVERAL, "forget commit", "Begin(None)"),
        // The connection stays, and its server hears of it.
        ("BEGIN", pinned, "forget commit", "planned"),
        ("BEGIN", on_replica, "forget end_on_replica", "Begin(None)"),
        ("BEGIN", one_shard, "end_on_replica", "Begin(None)"),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", FREE, "forget", "Snapshot(None)"),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", bound, "forget", "planned"),
        ("COMMIT", FREE, "forget", "planned"),
        ("COMMIT", SEVERAL, "", "End(Ends { commit: true, chain: false, release: false })"),
        ("SET autocommit = 1", without_autocommit, "commit", "planned"),
        ("SET autocommit = 1", SEVERAL, "", "planned"),
        ("SET TRANSACTION READ ONLY", FREE, "", "Characteristics(Some(true))"),
        ("SET TRANSACTION READ ONLY", bound, "keep", "planned"),
        ("SET TRANSACTION READ ONLY", open, "", "planned"),
        ("SAVEPOINT a", begun, "", "Savepoint { kind: Savepoint([97], \"SAVEPOINT a\"), unheard: true }"),
        ("SAVEPOINT a", SEVERAL, "", "Savepoint { kind: Savepoint([97], \"SAVEPOINT a\"), unheard: false }"),
        ("SAVEPOINT a", FREE, "", "planned"),
        ("ROLLBACK TO other", begun, "", "planned"),
        ("ROLLBACK TO known", begun, "", "Savepoint { kind: RollbackTo([107, 110, 111, 119, 110]), unheard: true }"),
        ("SAVEPOINT a", one_free, "", "planned"),
        ("SAVEPOINT a", one_waits, "", "Savepoint { kind: Savepoint([97], \"SAVEPOINT a\"), unheard: true }"),
        ("SAVEPOINT a", Facts { open: true, ..one_waits }, "", "planned"),
        (
            "ROLLBACK TO known",
            one_waits,
            "",
            "Savepoint { kind: RollbackTo([107, 110, 111, 119, 110]), unheard: true }",
        ),
        ("ROLLBACK TO other", one_waits, "", "planned"),
        ("COMMIT", one_waits, "forget", "planned"),
        ("SET autocommit = 1", one_waits, "forget", "planned"),
        ("CREATE TABLE t (id INT)", SEVERAL, "commit", "planned"),
        ("CREATE TABLE t (id INT)", open, "", "planned"),
        ("UNLOCK TABLES", SEVERAL, "", "planned"),
        ("UNLOCK TABLES", Facts { locks_tables: true, ..SEVERAL }, "commit", "planned"),
        ("LOCK TABLES t READ", SEVERAL, "commit", "planned"),
        ("CREATE TEMPORARY TABLE t (id INT)", SEVERAL, "", "planned"),
        ("DROP TEMPORARY TABLE t", SEVERAL, "", "planned"),
        ("DROP TABLE t", SEVERAL, "commit", "planned"),
        ("CALL p()", SEVERAL, "", "error 1235"),
        ("CALL p()", open, "", "planned"),
        ("SELECT 1", SEVERAL, "", "planned"),
    ];
    for (text, facts, wanted, course) in cases {
        let names = Names { prepared: &|_| false, savepoint: &|name| name == b"known" };
        let (first, decided) = with_statement(text, &facts, |statement| without_plan(statement, &facts, &names));
        let told_first = [
            (first.begins_anew, "forget"),
            (first.commits, "commit"),
            (first.ends_on_replica, "end_on_replica"),
            (first.keeps_characteristics.is_some(), "keep"),
        ];
        let told_first: Vec<&str> = told_first.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
        assert_eq!(told_first.join(" "), wanted, "{text} {facts:?}");
        assert_eq!(decided.map_or("planned".to_owned(), |course| told(&course)), course, "{text} {facts:?}");
    }
}
