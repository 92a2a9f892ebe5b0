//! What the statements that operate a server mean: above all, which tables they name.

use crate::ast::*;
use crate::parse::testing::{MARIADB, MYSQL, account, name, stops, with};

type Text<'t> = &'t dyn Fn(Span) -> String;

fn idents(list: &[Ident<'_>]) -> String {
    list.iter().map(|of| name(*of)).collect::<Vec<_>>().join(",")
}

fn flush(of: &Flush<'_>, text: Text<'_>) -> String {
    match of.what {
        FlushWhat::Tables(of) => {
            let tables: Vec<_> = of.tables.iter().map(|table| text(table.span)).collect();
            format!("tables {} {:?}", tables.join(" "), of.lock)
        }
        FlushWhat::Options(list) => list.iter().map(|of| option(of, text)).collect::<Vec<_>>().join("; "),
    }
}

fn option(of: &AdminOption<'_>, text: Text<'_>) -> String {
    let channel = of.channel.map_or(String::new(), |of| format!(" {}", text(of)));
    let values: String = of.values.iter().map(|of| format!(" {}", text(of.span))).collect();
    let all = if of.all { " ALL" } else { "" };
    format!("{}{channel}{values}{all}", text(of.name))
}

fn upkeep(of: &TableUpkeep<'_>, text: Text<'_>) -> String {
    let table = |table: &UpkeepTable<'_>| {
        let of = |names: Option<&[Ident<'_>]>| names.map_or("all".to_owned(), |names| format!("({})", idents(names)));
        let persistent = table.persistent.map(|kept| format!(" {} {}", of(kept.columns), of(kept.indexes)));
        format!(" {}{}", text(table.name.span), persistent.unwrap_or_default())
    };
    let tables: String = of.tables.iter().map(table).collect();
    let options = of.options.map_or(String::new(), |of| format!(" | {}", text(of)));
    let histogram = of.histogram.map_or(String::new(), |of| {
        format!(" | {} {} {}", of.drop, idents(of.columns), of.options.map_or("-".to_owned(), text))
    });
    format!("{:?} {} {}{tables}{options}{histogram}", of.verb, of.local, of.view)
}

fn replication(of: &Replication<'_>, text: Text<'_>) -> String {
    let option = |option: &ReplicationOption<'_>| {
        format!(" {}={}", name(option.name), option.value.map_or("-".to_owned(), text))
    };
    let options: String = of.options.iter().map(option).collect();
    let channel = of.channel.map_or("-".to_owned(), text);
    format!("{:?} {} {channel} [{}]{options}", of.verb, of.all, idents(of.threads))
}

fn shown(sql: &str, mode: crate::LexMode) -> String {
    with(sql, mode, |kind, text| match kind {
        StatementKind::Kill(of) => {
            let whom = match &of.target {
                KillWhom::Connection(id) => text(id.span),
                KillWhom::QueryId(id) => format!("id {}", text(id.span)),
                KillWhom::User(user) => format!("user {}", account(user)),
            };
            format!("{:?} {} {whom}", of.hard, of.query)
        }
        StatementKind::Flush(of) => format!("{} {}", of.local, flush(of, text)),
        StatementKind::Reset(Reset::Options(list)) => {
            list.iter().map(|of| option(of, text)).collect::<Vec<_>>().join("; ")
        }
        StatementKind::Reset(Reset::Persist(of)) => {
            format!("persist {}", of.map_or("-".to_owned(), |of| name(of.name)))
        }
        StatementKind::Replication(of) => replication(of, text),
        StatementKind::TableUpkeep(of) => upkeep(of, text),
        StatementKind::KeyCache(of) => {
            let table = |table: &KeyCacheTable<'_>| {
                let parts = [idents(table.partitions), idents(table.indexes)];
                format!(" {}({})({}){}", text(table.name.span), parts[0], parts[1], table.ignore_leaves)
            };
            let tables: String = of.tables.iter().map(table).collect();
            format!("{}{tables}", of.cache.map_or("-".to_owned(), name))
        }
        StatementKind::Weir(rest) => format!("weir {}", text(rest)),
        StatementKind::Batch(of) => {
            let column = of.column.map_or("-".to_owned(), |column| text(column.span()));
            format!("{column} {} {:?} {}", text(of.rows), of.dry_run, text(of.statement.span))
        }
        other => panic!("{sql}: {other:?}"),
    })
}

#[test]
fn kill_says_what_and_whose() {
    for (sql, mode, expected) in [
        ("KILL 3", MYSQL, "None false 3"),
        ("KILL CONNECTION 3 + 4", MYSQL, "None false 3 + 4"),
        ("KILL QUERY CONNECTION_ID()", MYSQL, "None true CONNECTION_ID()"),
        ("KILL HARD QUERY ID 4", MARIADB, "Some(true) true id 4"),
        ("KILL SOFT USER u@h", MARIADB, "Some(false) false user u@h"),
        ("KILL QUERY USER", MYSQL, "None true USER"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn flush_and_reset_list_what_they_mean() {
    for (sql, mode, expected) in [
        ("FLUSH TABLES", MYSQL, "false tables  None"),
        ("FLUSH LOCAL TABLE t, d.u WITH READ LOCK", MYSQL, "true tables t d.u Read"),
        ("FLUSH TABLES t FOR EXPORT", MYSQL, "false tables t Export"),
        ("FLUSH TABLES WITH READ LOCK AND DISABLE CHECKPOINT", MARIADB, "false tables  ReadNoCheckpoint"),
        ("FLUSH TABLES t, STATUS", MYSQL, "false tables t STATUS None"),
        ("FLUSH NO_WRITE_TO_BINLOG PRIVILEGES, STATUS", MYSQL, "true PRIVILEGES; STATUS"),
        ("FLUSH BINARY LOGS, RELAY LOGS FOR CHANNEL 'c'", MYSQL, "false BINARY LOGS; RELAY LOGS 'c'"),
        ("FLUSH BINARY LOGS DELETE_DOMAIN_ID = (1, 2)", MARIADB, "false BINARY LOGS 1 2"),
        ("FLUSH QUERY CACHE, USER_STATISTICS, SSL", MARIADB, "false QUERY CACHE; USER_STATISTICS; SSL"),
        ("FLUSH OPTIMIZER_COSTS", MYSQL, "false OPTIMIZER_COSTS"),
        ("RESET MASTER TO 3", MARIADB, "MASTER 3"),
        ("RESET SLAVE 'c' ALL, QUERY CACHE", MARIADB, "SLAVE 'c' ALL; QUERY CACHE"),
        ("RESET BINARY LOGS AND GTIDS TO 4", MYSQL, "BINARY LOGS AND GTIDS 4"),
        ("RESET REPLICA ALL FOR CHANNEL 'c'", MYSQL, "REPLICA 'c' ALL"),
        ("RESET PERSIST", MYSQL, "persist -"),
        ("RESET PERSIST IF EXISTS c.x", MYSQL, "persist x"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn replication_has_channel_threads_and_options() {
    for (sql, mode, expected) in [
        ("START REPLICA", MYSQL, "Start false - []"),
        ("START SLAVE 'c' IO_THREAD, SQL_THREAD", MARIADB, "Start false 'c' [IO_THREAD,SQL_THREAD]"),
        (
            "START REPLICA UNTIL SOURCE_LOG_FILE='f', SOURCE_LOG_POS=3 USER='u' PASSWORD='p' FOR CHANNEL 'c'",
            MYSQL,
            "Start false 'c' [] SOURCE_LOG_FILE='f' SOURCE_LOG_POS=3 USER='u' PASSWORD='p'",
        ),
        ("START REPLICA UNTIL SQL_AFTER_MTS_GAPS", MYSQL, "Start false - [] SQL_AFTER_MTS_GAPS=-"),
        ("STOP ALL SLAVES", MARIADB, "Stop true - []"),
        ("START GROUP_REPLICATION USER='u', PASSWORD='p'", MYSQL, "StartGroup false - [] USER='u' PASSWORD='p'"),
        (
            "CHANGE MASTER 'c' TO MASTER_HOST='h', IGNORE_SERVER_IDS=(1, 2), MASTER_USE_GTID=no",
            MARIADB,
            "ChangeSource false 'c' [] MASTER_HOST='h' IGNORE_SERVER_IDS=(1, 2) MASTER_USE_GTID=no",
        ),
        (
            "CHANGE REPLICATION SOURCE TO PRIVILEGE_CHECKS_USER='u'@'h', SOURCE_PORT=1 FOR CHANNEL 'c'",
            MYSQL,
            "ChangeSource false 'c' [] PRIVILEGE_CHECKS_USER='u'@'h' SOURCE_PORT=1",
        ),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB=(a)", MYSQL, "ChangeFilter false - [] REPLICATE_DO_DB=(a)"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn upkeep_names_its_tables() {
    for (sql, mode, expected) in [
        ("ANALYZE LOCAL TABLE t, d.u", MYSQL, "Analyze true false t d.u"),
        ("ANALYZE TABLE t PERSISTENT FOR ALL, persistent", MARIADB, "Analyze false false t all all persistent"),
        ("ANALYZE TABLE t PERSISTENT FOR COLUMNS (a, b) INDEXES ()", MARIADB, "Analyze false false t (a,b) ()"),
        (
            "ANALYZE TABLE t UPDATE HISTOGRAM ON a, b WITH 9 BUCKETS AUTO UPDATE",
            MYSQL,
            "Analyze false false t | false a,b WITH 9 BUCKETS AUTO UPDATE",
        ),
        ("ANALYZE TABLE t DROP HISTOGRAM ON a", MYSQL, "Analyze false false t | true a -"),
        ("CHECK TABLE t, u FOR UPGRADE QUICK", MYSQL, "Check false false t u | FOR UPGRADE QUICK"),
        ("CHECK VIEW v", MARIADB, "Check false true v"),
        ("CHECKSUM TABLE t EXTENDED", MYSQL, "Checksum false false t | EXTENDED"),
        ("OPTIMIZE NO_WRITE_TO_BINLOG TABLES t WAIT 3", MARIADB, "Optimize true false t | WAIT 3"),
        ("REPAIR VIEW v FROM MYSQL", MARIADB, "Repair false true v | FROM MYSQL"),
        ("CACHE INDEX t, d.u KEY (PRIMARY, b) IN hot", MYSQL, "hot t()()false d.u()(PRIMARY,b)false"),
        ("CACHE INDEX t PARTITION (p, q) IN DEFAULT", MYSQL, "DEFAULT t(p,q)()false"),
        ("LOAD INDEX INTO CACHE t IGNORE LEAVES, u", MYSQL, "- t()()true u()()false"),
        ("WEIR STATUS OF 'x'", MYSQL, "weir STATUS OF 'x'"),
        ("WEIR", MYSQL, "weir "),
        ("BATCH LIMIT 10 DELETE FROM t", MYSQL, "- 10 No DELETE FROM t"),
        ("batch on d.t.c limit 2 dry run query update t set a = 1", MARIADB, "d.t.c 2 Query update t set a = 1"),
        ("BATCH ON c LIMIT 2 DRY RUN REPLACE t SELECT * FROM u", MYSQL, "c 2 Parts REPLACE t SELECT * FROM u"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn other_statements_are_known_by_their_kind() {
    for (sql, mode, expected) in [
        ("SHUTDOWN WAIT FOR ALL REPLICAS", MARIADB, "Shutdown"),
        ("RESTART", MYSQL, "Restart"),
        ("PURGE BINARY LOGS TO 'l'", MYSQL, "Purge(To"),
        ("PURGE MASTER LOGS BEFORE NOW()", MARIADB, "Purge(Before"),
        ("BINLOG 'x'", MYSQL, "Binlog"),
        ("CLONE LOCAL DATA DIRECTORY '/x'", MYSQL, "Clone(Local"),
        ("CLONE INSTANCE FROM u@h:3306 IDENTIFIED BY 'p' REQUIRE NO SSL", MYSQL, "Clone(Instance"),
        ("IMPORT TABLE FROM 'a.sdi', 'b.sdi'", MYSQL, "ImportTable"),
        ("INSTALL PLUGIN p SONAME 'x.so'", MYSQL, "Plugin"),
        ("INSTALL PLUGIN IF NOT EXISTS p SONAME 'x'", MARIADB, "Plugin"),
        ("INSTALL SONAME 'x'", MARIADB, "Soname"),
        ("INSTALL COMPONENT 'file://a', 'b'", MYSQL, "Components"),
        ("UNINSTALL PLUGIN p", MYSQL, "RemovePlugin"),
        ("UNINSTALL SONAME IF EXISTS 'x'", MARIADB, "RemoveSoname"),
        ("UNINSTALL COMPONENT 'a'", MYSQL, "RemoveComponents"),
    ] {
        let found = with(sql, mode, |kind, _| match kind {
            StatementKind::Server(of) => format!("{of:?}"),
            StatementKind::Install(of) => format!("{of:?}"),
            other => panic!("{sql}: {other:?}"),
        });
        assert!(found.starts_with(expected), "{sql}: {found}");
    }
}

#[test]
fn what_no_server_reads_is_refused() {
    for (sql, near) in [
        ("KILL", ""),
        ("FLUSH LOCAL TABLES WITH LOCK", "LOCK"),
        ("FLUSH BINARY", ""),
        ("RESET FOO", "FOO"),
        ("START SOMETHING", "SOMETHING"),
        ("STOP REPLICA SQL_THREAD,", ""),
        ("CHANGE REPLICATION SOURCE SOURCE_HOST='x'", "SOURCE_HOST='x'"),
        ("CHECK TABLE t FOR", ""),
        ("REPAIR TABLE", ""),
        ("ANALYZE TABLE t FOR COLUMNS a", "COLUMNS a"),
        ("CACHE INDEX t", ""),
        ("INSTALL PLUGIN p", ""),
        ("PURGE BINARY LOGS TO ?", "?"),
    ] {
        stops(sql, MYSQL, near);
        stops(sql, MARIADB, near);
    }
}
