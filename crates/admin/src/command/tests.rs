//! What the commands' grammar takes, and what it says of the rest.

use super::*;

fn parsed(text: &str) -> Command {
    Command::parse(text).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

#[test]
fn commands_are_read_from_sql() {
    let pattern = |text: &str| Some(Pattern::new(text));
    let cases = [
        ("STATUS", Command::Status),
        ("show status", Command::Status),
        ("SHOW SERVERS", Command::ShowServers(None)),
        ("Show /* all */ Sessions LIKE 'app%'", Command::ShowSessions(pattern("app%"))),
        ("SHOW POOLS LIKE \"db_\"", Command::ShowPools(pattern("db_"))),
        ("SHOW CONFIG LIKE 'pool.max\\_queue'", Command::ShowConfig(pattern("pool.max\\_queue"))),
        ("SHOW TRANSACTIONS", Command::ShowTransactions(None)),
        ("SHOW DIGESTS", Command::ShowDigests { like: None, limit: None }),
        ("show digests like 'SELECT%' limit 5", Command::ShowDigests { like: pattern("SELECT%"), limit: Some(5) }),
        ("SHOW DIGESTS LIMIT 5", Command::ShowDigests { like: None, limit: Some(5) }),
        ("RESET DIGESTS", Command::ResetDigests),
        ("rotate logs", Command::RotateLogs),
        ("SHOW RULES LIKE 'no%'", Command::ShowRules(pattern("no%"))),
        ("SET READ_ONLY = ON", Command::SetReadOnly(true)),
        ("set read_only off", Command::SetReadOnly(false)),
        ("KILL 7", Command::Kill { id: 7, why: Interrupt::Connection }),
        ("KILL CONNECTION 7", Command::Kill { id: 7, why: Interrupt::Connection }),
        ("KILL QUERY 7", Command::Kill { id: 7, why: Interrupt::Query }),
        ("SET LOG LEVEL debug", Command::SetLogLevel("debug".into())),
        ("SET LOG LEVEL = 'info,weir_backend=debug'", Command::SetLogLevel("info,weir_backend=debug".into())),
        ("reload;", Command::Reload),
        ("BATCH PAUSE 3", Command::Batch { id: 3, order: weir_batches::Order::Pause }),
        ("show batches like 't%'", Command::ShowBatches(pattern("t%"))),
        ("MOVE PAUSE 3", Command::Move { id: 3, order: MoveOrder::Pause }),
        ("move throttle 3 rows 500", Command::Move { id: 3, order: MoveOrder::Throttle(500) }),
        (
            "MOVE TABLES shop.a TO SHARD BY LIST(r) (s1 VALUES IN ('x'), s2 DEFAULT)",
            Command::MoveTables("shop.a TO SHARD BY LIST(r) (s1 VALUES IN ( 'x' ), s2 DEFAULT)".into()),
        ),
        ("HELP", Command::Help(None)),
        ("", Command::Help(None)),
        ("HELP show config", Command::Help(Some("show config".into()))),
    ];
    for (text, command) in cases {
        assert_eq!(parsed(text), command, "{text}");
    }
}

#[test]
fn an_error_says_what_was_expected_and_what_may_have_been_meant() {
    let cases = [
        (
            "NONSENSE",
            "near 'NONSENSE': expected ADD, ADVISE, ALTER, ATTACH, BATCH, CANCEL, CATALOG, DETACH, DRAIN, FAILOVER, GROUP, HELP, KILL, MOVE, REBALANCE, RELOAD, \
             RESET, RESUME, ROTATE, SET, SHOW, STATUS or SWITCHOVER (WEIR HELP",
        ),
        (
            "SHOW",
            "near '': expected BATCHES, CONFIG, DDL, DIGESTS, FAILOVERS, GROUPS, HOT, MOVES, POOLS, RULES, SERVERS, SESSIONS, SHARDS, \
             STATUS, TABLES or TRANSACTIONS (WEIR HELP",
        ),
        (
            "SHOW SERVRES now",
            "near 'SERVRES now': expected BATCHES, CONFIG, DDL, DIGESTS, FAILOVERS, GROUPS, HOT, MOVES, POOLS, RULES, SERVERS, SESSIONS, SHARDS, STATUS, TABLES or \
             TRANSACTIONS; did you mean SERVERS?",
        ),
        ("STATSU", "did you mean STATUS?"),
        ("SHOW SERVERS LIEK 'a'", "near 'LIEK 'a'': expected LIKE; did you mean LIKE?"),
        ("SHOW SERVERS LIKE", "near '': expected <pattern>"),
        ("STATUS now", "near 'now': nothing more was expected"),
        ("KILL", "near '': expected <id>, CONNECTION or QUERY"),
        ("KILL QUREY 7", "near 'QUREY 7': expected <id>, CONNECTION or QUERY; did you mean QUERY?"),
        ("KILL QUERY me", "near 'me': expected <id>"),
        ("SET READ_ONLY", "near '': expected <state> or ="),
        ("SET LOG LEVEL", "near '': expected <level> or ="),
        ("SHOW `servers`", "near '`servers`'"),
        ("SHOW 'open", "near ''open'"),
    ];
    for (text, expected) in cases {
        let failure = Command::parse(text).expect_err(text);
        assert_eq!((failure.code, &failure.sqlstate), (1064, b"42000"), "{text}");
        assert!(failure.message.contains(expected), "{text}: {}", failure.message);
    }
    let failure = Command::parse("KILL 99999999999999999999").expect_err("too large");
    assert_eq!(failure.code, 1210, "{failure}");
}

#[test]
fn commands_are_read_from_the_words_of_a_command_line() {
    let find = |words: &str| {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        Command::find_ctl(&words).map(|(spec, arguments)| (spec.path, arguments.get("id").map(str::to_owned)))
    };
    assert_eq!(find("status"), Ok(("/api/v1/status", None)));
    assert_eq!(find("servers db%"), Ok(("/api/v1/servers", None)));
    assert_eq!(find("kill-query 7"), Ok(("/api/v1/sessions/{id}/kill-query", Some("7".into()))));
    assert_eq!(find("set log-level debug"), Ok(("/api/v1/log-level", None)));
    let unknown = find("sesions").expect_err("misspelt");
    assert!(
        unknown.contains("`sesions` is not a command here") && unknown.contains("did you mean sessions?"),
        "{unknown}"
    );
    assert!(find("kill").expect_err("no id").contains("the command is not complete: expected <id>"));
}

#[test]
fn each_argument_of_a_command_has_its_place_at_every_door() {
    for spec in CATALOGUE {
        for argument in spec.arguments {
            let in_form = |form: &'static str| {
                let parts = form::read(form).into_iter().flat_map(|group| group.parts);
                parts.into_iter().any(|part| {
                    matches!(part, form::Part::Argument(name) | form::Part::Words(name) if name == argument.name)
                })
            };
            assert!(spec.sql.iter().any(|form| in_form(form)), "{}: {}", spec.sql[0], argument.name);
            assert!(in_form(spec.ctl), "{}: {}", spec.ctl, argument.name);
        }
        let braces = spec.path.matches('{').count();
        assert_eq!(spec.arguments.len() - spec.loose_arguments().count(), braces, "{}", spec.path);
    }
}

#[test]
fn any_text_is_a_command_or_an_error() {
    let pieces = [
        "SHOW", "SERVERS", "LIKE", "KILL", "QUERY", "SET", "LOG", "LEVEL", "HELP", "7", "=", "'a%'", "\"b", "`c`", "é",
        " ", ";", "/*", "*/", "--", "\\", "\n", "\u{0}", "…", "'", "N'x'", "0x4", "@a", ",",
    ];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..20_000 {
        let text: String = (0..next(8)).map(|_| [pieces[next(pieces.len())], " "][..1 + next(2)].concat()).collect();
        if let Err(failure) = Command::parse(&text) {
            assert!([1064, 1210].contains(&failure.code), "{text:?}: {failure}");
        }
    }
}

/// The reference's examples of commands; EXPLAIN and ATTACH's kind are read by others first, or here too.
#[test]
fn the_references_examples_are_commands() {
    let page = include_str!("../../../../docs/reference.md");
    let block = page.rsplit("```sql\n").next().expect("the last block has the statements");
    let examples: Vec<_> = block.lines().filter_map(|line| line.strip_prefix("WEIR ")).collect();
    assert!(examples.len() > 10, "{examples:?}");
    for text in examples.iter().filter(|text| !text.starts_with("EXPLAIN ")) {
        parsed(text.trim_end_matches(';'));
    }
}
