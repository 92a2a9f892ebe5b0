//! What statements depend on and use.

use bumpalo::Bump;

use super::{VariableUse, Varies, facts};
use crate::mode::{Dialect, LexMode};
use crate::parse::parse;
use crate::resolve::{Context, Roles};

/// Asks a question of the facts of a statement.
fn of<T>(sql: &str, ask: impl FnOnce(&super::Facts<'_>) -> T) -> T {
    let arena = Bump::new();
    let mode = LexMode { dialect: Dialect::MariaDb, ..LexMode::default() };
    let parsed = parse(&arena, sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask(&facts(&parsed.statements[0], sql.as_bytes(), mode, &Context::of_database(b"d")))
}

#[test]
fn what_results_depend_on_is_found() {
    for (sql, varies) in [
        ("SELECT a, UPPER(b) FROM t ORDER BY c LIMIT 1", Varies::empty()),
        ("SELECT NOW(), CURRENT_DATE, UTC_TIMESTAMP(6)", Varies::TIME),
        ("SELECT UNIX_TIMESTAMP('2020-01-01')", Varies::empty()),
        ("INSERT INTO t VALUES (UNIX_TIMESTAMP())", Varies::TIME),
        ("SELECT SYSDATE()", Varies::CLOCK),
        ("UPDATE t SET a = RAND(), b = UUID()", Varies::RANDOM),
        ("DO SLEEP(1)", Varies::WAITS),
        ("SELECT GET_LOCK('a', 1)", Varies::WAITS | Varies::SERVER),
        ("SELECT @a", Varies::USER_VARIABLES),
        ("SELECT @a := 1", Varies::USER_VARIABLES),
        ("SELECT LAST_INSERT_ID(), DATABASE(), CURRENT_USER", Varies::SESSION),
        ("SELECT @@sql_mode, VERSION()", Varies::SERVER | Varies::SETTING),
        ("SELECT @@GLOBAL.sql_mode, @@autocommit", Varies::SERVER),
        ("SELECT f(1)", Varies::STORED),
        ("SELECT NEXT VALUE FOR s", Varies::SEQUENCE),
        ("SELECT a FROM t LIMIT 5", Varies::UNORDERED),
        ("SELECT a FROM t WHERE b IN (SELECT NOW() - INTERVAL RAND() DAY)", Varies::TIME | Varies::RANDOM),
        ("DELETE FROM t LIMIT 5", Varies::UNORDERED),
        ("UPDATE t SET a = 1 ORDER BY b LIMIT 5", Varies::empty()),
    ] {
        assert_eq!(of(sql, |facts| facts.varies), varies, "{sql}");
    }
}

#[test]
fn variables_are_listed() {
    let listed = |sql: &str| {
        let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        of(sql, |facts| {
            let show = |one: &VariableUse<'_>| match one {
                VariableUse::User(user) => format!("@{}", name(user.name)),
                VariableUse::AssignedUser(user) => format!("@{}:=", name(user.name)),
                VariableUse::System(system) => format!("@@{}", name(system.name.name)),
                VariableUse::AssignedSystem(system) => format!("@@{}:=", name(system.name.name)),
            };
            facts.variables.iter().map(show).collect::<Vec<_>>().join(" ")
        })
    };
    for (sql, expected) in [
        ("SELECT a FROM t WHERE b = @x AND c = @@global.y", "@x @@y"),
        ("SELECT @x := @y + 1", "@x:= @y"),
        ("SELECT a, b INTO @x, @y FROM t", "@x:= @y:="),
        ("SET @x = @y, sql_mode = @z, @@session.autocommit = 1", "@x:= @@sql_mode:= @@autocommit:= @y @z"),
        ("SET STATEMENT max_statement_time = 1 FOR SELECT @x", "@@max_statement_time:= @x"),
        ("CALL p(@x, 1)", "@x:= @x"),
        ("LOAD DATA INFILE 'f' INTO TABLE t (a, @x) SET b = @x", "@x:= @x"),
    ] {
        assert_eq!(listed(sql), expected, "{sql}");
    }
}

#[test]
fn facts_join_names_and_class() {
    of("INSERT INTO t SELECT a FROM u FOR UPDATE", |facts| {
        let roles: Vec<Roles> = facts.names.tables().map(|(_, table)| table.roles).collect();
        assert_eq!(roles, [Roles::WRITTEN, Roles::READ | Roles::LOCKED_UPDATE]);
        assert!(facts.class.effects.contains(crate::Effects::LOCKING_READ | crate::Effects::GENERATES_INSERT_ID));
    });
}
