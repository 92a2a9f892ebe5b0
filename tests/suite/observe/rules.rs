//! Rules, read-only mode, and where clients may come from.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use socket2::{Domain, Socket, Type};
use weir_local::Flavor;

use super::{BOUND, Case, DATABASE, app, field, fill};
use crate::client::{Packets, Stream};
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint, Lab, PLAIN, Site, eventually};
use crate::reads::GroupSite;
use crate::reply::{Set, decode_error};
use crate::weir::write_config;

pub(super) const CASES: &[Case] = &[
    ("read_only_refuses_what_changes_data", &[("clients.read_only", "true")], read_only),
    ("clients_from_elsewhere_are_refused", &[("listen.allow", "[\"127.0.0.1\"]")], host_refused),
    (
        "addresses_of_the_proxy_protocol_count",
        &[("listen.allow", "[\"127.0.0.1\", \"10.0.0.0/8\"]"), ("listen.proxy_protocol_networks", "[\"127.0.0.2\"]")],
        proxied,
    ),
    ("users_may_have_networks_of_their_own", &[("users.app.allow", "[\"10.0.0.0/8\"]")], user_refused),
];

/// A test with rules: its name, the rules, and what is tried.
type Ruled = (&'static str, &'static str, fn(&mut Endpoint) -> Result<(), Failed>);

/// Tests with rules.
pub(super) const RULED: &[Ruled] = &[
    (
        "rules_block",
        r#"
[[rules]]
name = "not for plain"
action = "block"
users = ["plain"]
kinds = ["write"]
reason = "ask an administrator"
[[rules]]
name = "no dumps"
action = "block"
pattern = '^SELECT \* FROM items$'
[[rules]]
name = "another database"
action = "block"
databases = ["t_observe_other"]
kinds = ["delete"]
"#,
        block,
    ),
    (
        "rules_limit",
        r#"
[[rules]]
name = "one at a time"
action = "limit"
concurrency = 1
pattern = 'SLEEP'
[[rules]]
name = "one at a time, patiently"
action = "limit"
concurrency = 1
wait = "60s"
pattern = 'patiently'
[[rules]]
name = "few"
action = "limit"
rate = 2
kinds = ["delete"]
"#,
        limit,
    ),
    (
        "rules_rewrite",
        r#"
[[rules]]
name = "pages only"
action = "rewrite"
pattern = '^SELECT id FROM items WHERE id > \?$'
replace = "SELECT id FROM items WHERE id > $1 ORDER BY id LIMIT 2"
[[rules]]
name = "wrong order"
action = "rewrite"
pattern = '^SELECT \?, \?, \?$'
replace = "SELECT $3, $2"
"#,
        rewrite,
    ),
    (
        "rules_end_what_takes_too_long",
        r#"
[[rules]]
name = "short only"
action = "timeout"
timeout = "300ms"
kinds = ["select"]
reason = "use an index"
"#,
        timeout,
    ),
    ("rules_change_while_statements_run", "", reload),
];

/// Texts that delete all items where they are read as the server reads them, and hide that from who reads them as they begin.
fn hidden_deletes(flavor: Flavor) -> Vec<String> {
    let delete = "DELETE FROM items";
    let mut texts = vec![
        format!("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; {delete} -- '"),
        format!("SET sql_mode = CONCAT('NO_BACKSLASH_', 'ESCAPES'); SELECT '\\'; {delete} -- '"),
        format!("SET @m = 'NO_BACKSLASH_ESCAPES'; SET sql_mode = @m; SELECT '\\'; {delete} -- '"),
        format!("PREPARE m FROM 'SET sql_mode = ''NO_BACKSLASH_ESCAPES'''; EXECUTE m; SELECT '\\'; {delete} -- '"),
        format!("SET sql_mode = 'ANSI_QUOTES'; SELECT 1 AS \"\\\"; {delete} -- \""),
        format!("SET sql_mode = ''; SET NAMES gbk; SELECT '中\\'; {delete} -- '"),
        format!("SET sql_mode = ''; SET NAMES sjis; SELECT '丁\\'; {delete} -- '"),
        format!("SET sql_mode = ''; SET NAMES big5; SELECT '中\\'; {delete} -- '"),
        // Of one shape with what only reads, where the comment is run.
        format!("SELECT 1 /*!99998 '*/; {delete}; #' */"),
        format!("SELECT '{}'; {delete}", "x".repeat(20_000)),
        format!("/* {} */ {delete}", "x".repeat(20_000)),
        format!("SELECT 1; {delete}"),
    ];
    if flavor == Flavor::MySql {
        texts.push(format!("SET NAMES gb18030; SELECT '中\\'; {delete} -- '"));
    } else {
        let set = "SET sql_mode = 'NO_BACKSLASH_ESCAPES'";
        texts.push(format!("SET STATEMENT max_statement_time = 9 FOR {set}; SELECT '\\'; {delete} -- '"));
        texts.push(format!("EXECUTE IMMEDIATE \"{set}\"; SELECT '\\'; {delete} -- '"));
        texts.push(format!("BEGIN NOT ATOMIC {delete}; END"));
    }
    texts
}

/// A database that no other test writes to.
const HIDDEN: &str = "t_observe_hidden";

/// Sends each of them in a session of its own. None of them may delete anything.
fn try_hidden_deletes(endpoint: &Endpoint, site: &Site) -> Result<(), Failed> {
    let direct = || connect(site.server.port(), APP, Some(HIDDEN));
    let table = "CREATE TABLE IF NOT EXISTS {db}.items (id INT PRIMARY KEY, name VARCHAR(40))";
    site.fill(HIDDEN, &["CREATE DATABASE IF NOT EXISTS {db}", table])?;
    let through = || connect(endpoint.port, APP, Some(HIDDEN));
    let count = || value(&mut direct()?, "SELECT COUNT(*) FROM items");
    direct()?.query_drop("REPLACE INTO items VALUES (201, 'kept'), (202, 'kept')")?;
    let before = count()?;
    // What is known of texts of their shapes must not be taken for theirs.
    through()?.query_drop("SELECT 1 'a'")?;
    through()?.query_drop(format!("SELECT '{}'", "x".repeat(20_000)))?;
    for text in hidden_deletes(site.flavor) {
        let shown: String = text.chars().take(120).collect();
        expect_equal(&shown, all_results(&mut through()?, &text).is_err(), true)?;
        expect_equal(&shown, count()?, before.clone())?;
    }
    Ok(())
}

/// Runs a text to the end of its last result.
fn all_results(session: &mut Conn, text: &str) -> mysql::Result<()> {
    let mut sets = session.query_iter(text)?;
    while let Some(set) = sets.iter() {
        set.collect::<mysql::Result<Vec<Row>>>()?;
    }
    Ok(())
}

/// Rules that block writes see those that are hidden in a text.
pub(super) fn hidden(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let rules = [
        "[[rules]]\nname = \"no deletes\"\naction = \"block\"\npattern = '(?i)DELETE FROM items'\n",
        "[[rules]]\nname = \"reads only\"\naction = \"block\"\nkinds = [\"write\"]\n",
    ];
    let site = lab.site(flavor)?;
    for rule in rules {
        let weir = crate::weir::Weir::start_with(&lab.directory()?, &[&site.server], &[], rule)?;
        lab.judge(Endpoint::of(weir), |endpoint| try_hidden_deletes(endpoint, site))?;
    }
    Ok(())
}

/// Runs a test against a Weir with rules.
pub(super) fn ruled(
    lab: &Lab,
    flavor: Flavor,
    rules: &str,
    test: fn(&mut Endpoint) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    fill(site)?;
    site.fill("t_observe_other", &["CREATE DATABASE IF NOT EXISTS {db}"])?;
    let weir = crate::weir::Weir::start_with(&lab.directory()?, &[&site.server], &[], rules)?;
    lab.judge(Endpoint::of(weir), test)
}

/// What `WEIR SHOW RULES` counts of a rule: hits, refusals.
fn counts(admin: &mut Conn, rule: &str) -> Result<(u64, u64), Failed> {
    let row: Option<Row> = admin.query_first(format!("WEIR SHOW RULES LIKE '{rule}'"))?;
    let row = row.ok_or_else(|| format!("there is no rule {rule}"))?;
    Ok((field(&row, "hits")?, field(&row, "refusals")?))
}

fn message<T: std::fmt::Debug>(result: &mysql::Result<T>) -> String {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.message.clone(),
        other => format!("{other:?}"),
    }
}

fn block(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let mut plain = connect(endpoint.port, PLAIN, Some(DATABASE))?;
    let refused = run(&mut plain, "DELETE FROM items WHERE id = 5");
    expect_error("a write of plain", &refused, 1148, "42000")?;
    let told = "The statement was blocked by rule 'not for plain' of Weir: ask an administrator";
    expect_equal("message", message(&refused), told.to_owned())?;
    plain.query_drop("SELECT id FROM items")?;
    admin.query_drop("DELETE FROM items WHERE id = 5")?;
    expect_error("a dump", &run(&mut admin, "select * from items"), 1148, "42000")?;
    expect_error("a dump, prepared", &admin.prep("SELECT * FROM items"), 1148, "42000")?;
    admin.query_drop("SELECT * FROM items LIMIT 1")?;
    // What was prepared before counts when it is executed: the database decides.
    let prepared = admin.prep("DELETE FROM t_observe.items WHERE id = ?")?;
    admin.exec_drop(&prepared, (5,))?;
    admin.query_drop("USE t_observe_other")?;
    expect_error("elsewhere", &admin.exec_drop(&prepared, (5,)), 1148, "42000")?;
    expect_equal("hits", counts(&mut admin, "no dumps")?, (2, 2))?;
    expect_equal("hits", counts(&mut admin, "not for plain")?, (1, 1))?;
    let metrics = endpoint.weir.as_ref().ok_or("no Weir")?.metrics()?;
    expect_equal("metric", metrics.contains("weir_rule_refusals_total{rule=\"no dumps\"} 2"), true)
}

fn limit(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let shown = |admin: &mut Conn, text: &str| {
        let rows: Vec<Row> = admin.query("WEIR SHOW SESSIONS").unwrap_or_default();
        let has = |row: &Row, name: &str| {
            row.get::<Option<String>, _>(name).flatten().is_some_and(|cell| cell.contains(text))
        };
        rows.iter().filter(|row| has(row, "statement") || has(row, "state")).count()
    };
    let (mut first, mut second) = (app(endpoint)?, app(endpoint)?);
    let id = first.connection_id();
    std::thread::scope(|scope| -> Result<(), Failed> {
        let running = scope.spawn(|| run(&mut first, "SELECT SLEEP(60) FROM information_schema.schemata"));
        eventually(BOUND, "the first one runs", || shown(&mut admin, "SLEEP(60)") == 1)?;
        expect_error("a second one", &run(&mut second, "SELECT SLEEP(0)"), 1226, "42000")?;
        admin.query_drop(format!("WEIR KILL QUERY {id}"))?;
        expect_error("the killed one", &running.join().expect("no panic"), 1317, "70100")
    })?;
    second.query_drop("SELECT SLEEP(0)")?;

    // Here the second one waits for its turn, and is run when the first one has ended.
    std::thread::scope(|scope| -> Result<(), Failed> {
        let text = "SELECT id AS patiently FROM items WHERE id = 1 FOR UPDATE";
        admin.query_drop("REPLACE INTO items VALUES (1, 'one')")?;
        admin.query_drop("BEGIN")?;
        admin.query_drop("SELECT id FROM items WHERE id = 1 FOR UPDATE")?;
        let (sender, ended) = channel();
        for client in [&mut first, &mut second] {
            let sender = sender.clone();
            scope.spawn(move || sender.send(run(client, text)));
        }
        let mut watcher = app(endpoint)?;
        eventually(BOUND, "one waits for its turn", || shown(&mut watcher, "Waiting for its turn by a rule") == 1)?;
        admin.query_drop("COMMIT")?;
        for _ in 0..2 {
            // Whether the server's own lock wait was longer than its bound does not matter: both have had their turn.
            let outcome = ended.recv_timeout(BOUND)?;
            let lock_wait = crate::driver::server_error(&outcome) == Some((1205, "HY000".into()));
            expect_equal(&format!("{outcome:?}"), outcome.is_ok() || lock_wait, true)?;
        }
        Ok(())
    })?;
    let outcomes: Vec<_> = (0..10).map(|_| run(&mut admin, "DELETE FROM items WHERE id = 77")).collect();
    expect_equal("the first two", outcomes[..2].iter().all(Result::is_ok), true)?;
    let refused = outcomes.iter().find(|outcome| outcome.is_err()).ok_or("none of ten at once was refused")?;
    expect_error("too many", refused, 1226, "42000")?;
    let expected = "Too many statements of this kind: limited by rule 'few' of Weir";
    expect_equal("message", message(refused), expected.to_owned())
}

fn rewrite(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut client = app(endpoint)?;
    client.query_drop("REPLACE INTO items VALUES (11, 'a'), (12, 'b'), (13, 'c'), (14, 'd')")?;
    for _ in 0..20 {
        let ids: Vec<u32> = client.query("SELECT id FROM items WHERE id > 11")?;
        expect_equal("text", ids, vec![12, 13])?;
        let ids: Vec<u32> = client.exec("SELECT id FROM items WHERE id > ?", (12,))?;
        expect_equal("prepared", ids, vec![13, 14])?;
    }
    let row: Option<(u32, String)> = client.query_first("SELECT 1, 'x', 3")?;
    expect_equal("another order", row, Some((3, "x".to_owned())))?;
    expect_error("parameters in another order", &client.prep("SELECT ?, ?, ?"), 1148, "42000")?;
    // It is counted as what the client has sent.
    let digests: Vec<Row> = client.query("WEIR SHOW DIGESTS LIKE 'SELECT id FROM items WHERE id > _'")?;
    expect_equal("digest", digests.len(), 1)?;
    expect_equal("count", field::<u64>(&digests[0], "count")?, 40)
}

fn timeout(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut client = app(endpoint)?;
    let long = "SELECT SLEEP(60) FROM information_schema.schemata";
    let outcome = run(&mut client, long);
    expect_error("too long", &outcome, 3024, "HY000")?;
    expect_equal(&message(&outcome), message(&outcome).ends_with("by rule 'short only' of Weir: use an index"), true)?;
    let prepared: mysql::Result<Vec<Row>> = client.exec("SELECT SLEEP(?) FROM information_schema.schemata", (60,));
    expect_error("prepared", &prepared, 3024, "HY000")?;
    // The session goes on, its transaction too.
    client.query_drop("BEGIN")?;
    client.query_drop("REPLACE INTO items VALUES (21, 'kept')")?;
    expect_error("in a transaction", &run(&mut client, long), 3024, "HY000")?;
    client.query_drop("COMMIT")?;
    expect_equal("kept", value(&mut client, "SELECT name FROM items WHERE id = 21")?, "kept".to_owned())?;
    expect_equal("refusals", counts(&mut client, "short only")?.1, 3)?;
    let metrics = endpoint.weir.as_ref().ok_or("no Weir")?.metrics()?;
    expect_equal("metric", metrics.contains("weir_errors_total{code=\"3024\"} 3"), true)
}

/// Rules of a configuration that is read again count at once, for sessions that are there too.
fn reload(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let without = std::fs::read_to_string(&weir.config)?;
    let rule = "[[rules]]\nname = \"no deletes\"\naction = \"block\"\nkinds = [\"delete\"]\n";
    let mut client = app(endpoint)?;
    let statement = "DELETE FROM items WHERE id = 41";
    let prepared = client.prep(statement)?;
    let both = |client: &mut Conn| [run(client, statement), client.exec_drop(&prepared, ())];
    for outcome in both(&mut client) {
        outcome?;
    }
    write_config(&weir.config, &format!("{without}{rule}"))?;
    let changes: Vec<Row> = client.query("WEIR RELOAD")?;
    let told = |row: &Row| row.get::<String, _>(0).is_some_and(|key| key.starts_with("rules.no deletes."));
    expect_equal("what has changed", !changes.is_empty() && changes.iter().all(told), true)?;
    for outcome in both(&mut client) {
        expect_error("with the rule", &outcome, 1148, "42000")?;
    }
    // What has not changed keeps its counts.
    client.query_drop("WEIR RELOAD")?;
    expect_equal("counts", counts(&mut client, "no deletes")?, (2, 2))?;
    write_config(&weir.config, &without)?;
    client.query_drop("WEIR RELOAD")?;
    for outcome in both(&mut client) {
        outcome?;
    }
    Ok(())
}

const ROUTES: &str = r#"
[[rules]]
name = "to a replica"
action = "route"
to = "replica"
pattern = 'FROM counters'
[[rules]]
name = "to the writer"
action = "route"
to = "primary"
pattern = 'FROM log'
"#;

/// Routes, and what is counted of replicas.
pub(super) fn route(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = GroupSite::start(flavor, &lab.directory()?)?;
    let settings = [("users.app.consistency", "\"primary\"")];
    let weir = crate::weir::Weir::start_with(&lab.directory()?, &site.servers(), &settings, ROUTES)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        site.all_take_reads(endpoint)?;
        // One whose reads stay on the writer, and one whose reads go to replicas.
        let mut client = connect(endpoint.port, APP, Some("t_reads"))?;
        let mut plain = connect(endpoint.port, PLAIN, Some("t_reads"))?;
        for id in 0..5 {
            let _: Vec<Row> = client.exec("SELECT v FROM counters WHERE id = ?", (id,))?;
            client.query_drop(format!("SELECT v FROM counters WHERE id = {id}"))?;
            let _: Vec<Row> = plain.exec("SELECT who FROM log WHERE id = ?", (id,))?;
            plain.query_drop(format!("SELECT who FROM log WHERE id = {id}"))?;
        }
        let mut on_replicas = |text: &str| -> Result<(u64, u64), Failed> {
            let row: Option<Row> = client.query_first(format!("WEIR SHOW DIGESTS LIKE '{text}'"))?;
            let row = row.ok_or_else(|| format!("no digest {text}"))?;
            Ok((field(&row, "count")?, field(&row, "on_replicas")?))
        };
        expect_equal("to a replica", on_replicas("SELECT v FROM counters%")?, (10, 10))?;
        expect_equal("to the writer", on_replicas("SELECT who FROM log%")?, (10, 0))?;
        let metrics = endpoint.weir.as_ref().ok_or("no Weir")?.metrics()?;
        for replica in ["replica1", "replica2"] {
            for sample in ["weir_server_lag_seconds", "weir_server_received_bytes_total"] {
                let sample = format!("{sample}{{server=\"{replica}\",group=\"main\"}} ");
                expect_equal(&sample, metrics.contains(&sample), true)?;
            }
            for (name, value) in [("weir_server_usable", 1), ("weir_server_writer", 0)] {
                let sample = format!("{name}{{server=\"{replica}\",group=\"main\"}} {value}\n");
                expect_equal(&sample, metrics.contains(&sample), true)?;
            }
        }
        Ok(())
    })
}

fn read_only(site: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    try_hidden_deletes(endpoint, site)?;
    let mut client = app(endpoint)?;
    for statement in ["INSERT INTO items VALUES (31, 'x')", "CREATE TABLE never (id INT)", "CALL nothing()"] {
        expect_error(statement, &run(&mut client, statement), 1290, "HY000")?;
    }
    let prepared = client.prep("DELETE FROM items WHERE id = ?")?;
    expect_error("prepared", &client.exec_drop(&prepared, (31,)), 1290, "HY000")?;
    for statement in ["SELECT id FROM items FOR UPDATE", "SET @a = 1", "BEGIN", "COMMIT"] {
        client.query_drop(statement)?;
    }
    let status = |client: &mut Conn| -> Result<Option<String>, Failed> {
        let rows: Vec<(String, String)> = client.query("WEIR STATUS")?;
        Ok(rows.into_iter().find(|(name, _)| name == "read_only").map(|(_, value)| value))
    };
    expect_equal("status", status(&mut client)?.as_deref(), Some("ON"))?;
    client.query_drop("WEIR SET READ_ONLY = OFF")?;
    client.exec_drop(&prepared, (31,))?;
    expect_equal("status", status(&mut client)?.as_deref(), Some("OFF"))?;
    client.query_drop("WEIR SET READ_ONLY = ON")?;
    expect_error("again", &client.exec_drop(&prepared, (31,)), 1290, "HY000")?;
    expect_error("no state", &client.query_drop("WEIR SET READ_ONLY = maybe"), 1210, "HY000")
}

/// The first packet that a client at 127.0.0.2 gets which sends these bytes first.
fn first_packet(port: u16, header: &[u8]) -> Result<Vec<u8>, Failed> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into())?;
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into())?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(header)?;
    stream.set_read_timeout(Some(BOUND))?;
    Ok(Packets::new(Stream::Tcp(stream)).read()?)
}

fn expect_host_error(packet: &[u8], host: &str) -> Result<(), Failed> {
    let Ok(Set::Error(code, state, message)) = decode_error(packet) else {
        return Err(format!("no error: {}", packet.escape_ascii()).into());
    };
    let expected = format!("Host '{host}' is not allowed to connect to this MySQL server");
    // Before the handshake an error has no SQLSTATE.
    let message = String::from_utf8_lossy(&message).into_owned();
    expect_equal("error", (code, message.ends_with(&expected)), (1130, true))
        .map_err(|_| format!("{state} {message}").into())
}

fn host_refused(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    expect_host_error(&first_packet(endpoint.port, b"")?, "127.0.0.2")?;
    connect(endpoint.port, APP, None)?.query_drop("SELECT 1")?;
    let options = mysql::OptsBuilder::new().socket(endpoint.socket.to_str()).user(Some(APP.0)).pass(Some(APP.1));
    Conn::new(options)?.query_drop("SELECT 1")?;
    Ok(())
}

fn proxied(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let header = |source: &str| format!("PROXY TCP4 {source} 127.0.0.1 4000 3306\r\n").into_bytes();
    expect_host_error(&first_packet(endpoint.port, &header("192.168.0.7"))?, "192.168.0.7")?;
    let greeting = first_packet(endpoint.port, &header("10.1.2.3"))?;
    expect_equal("a greeting", greeting[0], 10)
}

fn user_refused(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let refused = connect(endpoint.port, APP, None);
    expect_error("the right password from the wrong place", &refused.map(drop), 1045, "28000")?;
    connect(endpoint.port, PLAIN, None)?.query_drop("SELECT 1")?;
    Ok(())
}
