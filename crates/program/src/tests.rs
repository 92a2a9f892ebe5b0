//! Procedures are gone through with answers of a table in place of a server.

use weir_sql::LexMode;

use crate::{Action, Answer, Level, Machine, Program, Raised, Routine, Rows, compile};

fn compiled(procedure: &str) -> Result<Program, String> {
    let text = format!("CREATE DEFINER=`u`@`%` PROCEDURE {procedure}");
    compile(&Routine { text: text.as_bytes(), mode: LexMode::default() })
}

fn program(procedure: &str) -> Program {
    compiled(procedure).unwrap_or_else(|why| panic!("{procedure}: {why}"))
}

/// What a procedure does, one line per action. `answers`: what is told of an action whose line begins so, each once, in order.
fn trace(procedure: &str, answers: &[(&str, Tell)]) -> Vec<String> {
    let program = program(procedure);
    let mut machine = Machine::new(&program);
    let (mut lines, mut answers) = (Vec::new(), answers.to_vec());
    while lines.len() < 100 {
        let Some(action) = machine.go_on() else {
            lines.push("goes on".to_owned());
            break;
        };
        let named = |variables: &[usize]| -> String {
            variables.iter().map(|at| &program.variables[*at].column[..]).collect::<Vec<_>>().join(",")
        };
        let columns: Vec<Vec<u8>> = program.variables.iter().map(|one| format!("<{}>", one.column).into()).collect();
        let shown = |template: &crate::Template| {
            String::from_utf8_lossy(&template.render(|variable| &columns[variable])).into_owned()
        };
        let line = match &action {
            Action::Set(to, value) => format!("{} = {}", named(to), value.map_or("NULL".to_owned(), shown)),
            Action::Test(condition) => format!("if {}", shown(condition)),
            Action::Run(statement) => shown(statement),
            Action::Read { query, .. } => format!("read {}", shown(query)),
            Action::Store(to, values) => format!("{} := {}", named(to), String::from_utf8_lossy(&values.concat())),
            Action::StoreRow(fields, ..) => {
                format!("row of {}", fields.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>().join(","))
            }
            Action::Message(value) => format!("message {}", shown(value)),
            Action::Diagnostics(get, raised) => match &get.to {
                crate::Targets::Variables(to) => format!("{} get {:?} of {}", named(to), get.items, raised.code),
                crate::Targets::User(to) => format!("{} variables get {:?} of {}", to.len(), get.items, raised.code),
            },
            Action::End(Ok(())) => "end".to_owned(),
            Action::End(Err(raised)) => format!("{} {}", raised.code, raised.message),
        };
        let ended = matches!(action, Action::End(_));
        let told = answers.iter().position(|(begin, _)| line.starts_with(begin)).map(|at| answers.remove(at).1);
        lines.push(line);
        if ended {
            break;
        }
        machine.answer(answer(&action, told.unwrap_or(Tell::Done)));
    }
    lines
}

/// A procedure, what is told of its actions, and what it does.
type Case = (&'static str, &'static [(&'static str, Tell)], &'static [&'static str]);

/// What is told.
#[derive(Clone, Copy)]
enum Tell {
    Done,
    True,
    False,
    Error(u16, &'static [u8; 5]),
    Warning(u16),
    Rows(&'static [&'static str]),
}

fn answer(action: &Action<'_>, tell: Tell) -> Answer {
    match (tell, action) {
        (Tell::Error(code, state), _) => Answer::Failed(Raised::error(code, state, "failed")),
        (Tell::Warning(code), _) => {
            Answer::Done(vec![Raised { level: Level::Warning, code, state: *b"01000", message: String::new() }])
        }
        (Tell::Rows(rows), _) => {
            let rows = rows.iter().map(|row| vec![row.as_bytes().to_vec()]).collect();
            Answer::Rows(Rows { columns: 1, names: Vec::new(), rows }, Vec::new())
        }
        (Tell::False, _) => Answer::Truth(false, Vec::new()),
        (_, Action::Test(_)) => Answer::Truth(true, Vec::new()),
        (_, Action::Message(_)) => Answer::Message("told".to_owned()),
        (_, Action::Read { .. }) => Answer::Rows(Rows { columns: 1, ..Rows::default() }, Vec::new()),
        _ => Answer::Done(Vec::new()),
    }
}

#[test]
fn control_flow_is_followed() {
    let cases: [Case; 7] = [
        (
            "p(a INT) BEGIN DECLARE b, c INT DEFAULT a + 1; SET b = c; DO b; END",
            &[],
            &["b,c = <a> + 1", "b = <c>", "DO <b>", "end"],
        ),
        (
            "p(a INT) IF a = 1 THEN DO 1; ELSEIF a = 2 THEN DO 2; ELSE DO 3; END IF",
            &[("if <a> = 1", Tell::False)],
            &["if <a> = 1", "if <a> = 2", "DO 2", "end"],
        ),
        (
            "p(a INT) CASE a WHEN 1 THEN DO 1; WHEN 2 THEN DO 2; END CASE",
            &[("if (<a>) = (1)", Tell::False), ("if (<a>) = (2)", Tell::False)],
            &["if (<a>) = (1)", "if (<a>) = (2)", "1339 Case not found for CASE statement"],
        ),
        (
            "p(a INT) l: WHILE a DO IF a = 2 THEN ITERATE l; END IF; LEAVE l; END WHILE",
            &[("if <a> = 2", Tell::True), ("if <a> = 2", Tell::False)],
            &["if <a>", "if <a> = 2", "if <a>", "if <a> = 2", "end"],
        ),
        ("p() REPEAT DO 1; UNTIL @x END REPEAT", &[("if @x", Tell::False)], &["DO 1", "if @x", "DO 1", "if @x", "end"]),
        ("p() LOOP BEGIN END; END LOOP", &[], &["goes on"]),
        (
            "p(v INT) BEGIN DECLARE w INT; l: BEGIN DECLARE v INT DEFAULT v; SET w = v; LEAVE l; DO 1; END; SET w = v; END",
            &[],
            &["w = NULL", "v#1 = <v>", "w = <v#1>", "w = <v>", "end"],
        ),
    ];
    for (procedure, answers, expected) in cases {
        assert_eq!(trace(procedure, answers), expected, "{procedure}");
    }
}

#[test]
fn the_closest_handler_of_the_innermost_block_is_taken() {
    let handlers = "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION DO 'any'; DECLARE CONTINUE HANDLER FOR SQLSTATE '23000' DO 'state'; \
                    DECLARE EXIT HANDLER FOR 1062 DO 'code'";
    let cases: [(u16, &[u8; 5], &[&str]); 3] = [
        (1062, b"23000", &["DO 1", "DO 'code'", "DO 3", "end"]),
        (1048, b"23000", &["DO 1", "DO 'state'", "DO 2", "DO 3", "end"]),
        (1146, b"42S02", &["DO 1", "DO 'any'", "DO 2", "DO 3", "end"]),
    ];
    for (code, state, expected) in cases {
        let procedure = format!("p() BEGIN BEGIN {handlers}; DO 1; DO 2; END; DO 3; END");
        assert_eq!(trace(&procedure, &[("DO 1", Tell::Error(code, state))]), expected, "{code}");
    }
    // A block's own handler comes before a closer one of a block around it.
    let inner = "p() BEGIN DECLARE EXIT HANDLER FOR 1062 DO 'outer'; BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DO 'inner'; DO 1; END; DO 2; END";
    assert_eq!(trace(inner, &[("DO 1", Tell::Error(1062, b"23000"))]), ["DO 1", "DO 'inner'", "DO 2", "end"]);
    // Not its own for what it raises.
    let raises = "p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DO 'outer'; BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION DO 'inner'; DO 1; END; DO 2; END";
    let answers = [("DO 1", Tell::Error(1062, b"23000")), ("DO 'inner'", Tell::Error(1062, b"23000"))];
    assert_eq!(trace(raises, &answers), ["DO 1", "DO 'inner'", "DO 'outer'", "end"]);
    // A condition that fails goes on behind all of its statement.
    let condition =
        "p() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION DO 'h'; IF @a THEN DO 1; ELSE DO 2; END IF; DO 3; END";
    assert_eq!(trace(condition, &[("if", Tell::Error(1365, b"22012"))]), ["if @a", "DO 'h'", "DO 3", "end"]);
}

#[test]
fn conditions_are_raised_as_by_servers() {
    let cases: [Case; 7] = [
        ("p() DO 1", &[("DO 1", Tell::Error(1062, b"23000"))], &["DO 1", "1062 failed"]),
        ("p() SIGNAL SQLSTATE '45000'", &[], &["1644 Unhandled user-defined exception condition"]),
        ("p() SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'x', MYSQL_ERRNO = 7", &[], &["message 'x'", "7 told"]),
        ("p() BEGIN SIGNAL SQLSTATE '01000'; DO 1; END", &[], &["DO 1", "end"]),
        ("p() RESIGNAL", &[], &["1645 RESIGNAL when handler not active"]),
        (
            "p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DO 2; RESIGNAL; END; DO 1; END",
            &[("DO 1", Tell::Error(1062, b"23000"))],
            &["DO 1", "DO 2", "1062 failed"],
        ),
        (
            "p() BEGIN DECLARE CONTINUE HANDLER FOR SQLWARNING DO 'w'; DO 1; DO 2; END",
            &[("DO 1", Tell::Warning(1265))],
            &["DO 1", "DO 'w'", "DO 2", "end"],
        ),
    ];
    for (procedure, answers, expected) in cases {
        assert_eq!(trace(procedure, answers), expected, "{procedure}");
    }
}

#[test]
fn diagnostics_are_got_where_they_are_what_is_handled() {
    let handler =
        |body: &str| format!("p() BEGIN DECLARE c INT; DECLARE EXIT HANDLER FOR SQLEXCEPTION {body}; DO 1; END");
    let failed = [("DO 1", Tell::Error(1062, b"23000"))];
    let first = handler("BEGIN GET DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO; GET DIAGNOSTICS @n = NUMBER; END");
    let expected = ["c = NULL", "DO 1", "c get [Code] of 1062", "1 variables get [Number] of 1062", "end"];
    assert_eq!(trace(&first, &failed), expected);
    let counts = "p() BEGIN DECLARE c INT; DO 1; GET DIAGNOSTICS c = ROW_COUNT; END";
    assert_eq!(trace(counts, &[]), ["c = NULL", "DO 1", "c = ROW_COUNT()", "end"]);
    for later in [
        "BEGIN DO 2; GET DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO; END",
        "BEGIN SET c = 1; GET DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO; END",
        "LOOP GET DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO; DO 2; END LOOP",
        "GET DIAGNOSTICS CONDITION 2 c = MYSQL_ERRNO",
        "GET DIAGNOSTICS CONDITION 1 c = TABLE_NAME",
    ] {
        let told = compiled(&handler(later)).err().unwrap_or_default();
        assert!(told.contains("GET DIAGNOSTICS"), "{later}: {told}");
    }
    let stacked = handler("BEGIN SET c = 1; GET STACKED DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO; END");
    assert_eq!(trace(&stacked, &failed), ["c = NULL", "DO 1", "c = 1", "c get [Code] of 1062", "end"]);
}

#[test]
fn rows_are_fetched_and_selected_into_variables() {
    let cursor =
        "p() BEGIN DECLARE v INT; DECLARE c CURSOR FOR SELECT 1 FROM t; OPEN c; FETCH c INTO v; FETCH c INTO v; END";
    let rows = [("read", Tell::Rows(&["7"]))];
    let none = "1329 No data - zero rows fetched, selected, or processed";
    assert_eq!(trace(cursor, &rows), ["v = NULL", "read SELECT 1 FROM t", "v := 7", none]);
    let cases: [(&str, &[&str]); 4] = [
        ("OPEN c; OPEN c", &["v = NULL", "read SELECT 1 FROM t", "1325 Cursor is already open"]),
        ("FETCH c INTO v", &["v = NULL", "1326 Cursor is not open"]),
        ("CLOSE c", &["v = NULL", "1326 Cursor is not open"]),
        (
            "OPEN c; FETCH c INTO v, v",
            &["v = NULL", "read SELECT 1 FROM t", "1328 Incorrect number of FETCH variables"],
        ),
    ];
    for (body, expected) in cases {
        let procedure = format!("p() BEGIN DECLARE v INT; DECLARE c CURSOR FOR SELECT 1 FROM t; {body}; END");
        assert_eq!(trace(&procedure, &[]), expected, "{body}");
    }
    let into = "p() BEGIN DECLARE v INT; SELECT a INTO v FROM t WHERE b = v; DO v; END";
    let read = "read SELECT a   FROM t WHERE b = <v>";
    assert_eq!(trace(into, &[("read", Tell::Rows(&["7"]))]), ["v = NULL", read, "v := 7", "DO <v>", "end"]);
    assert_eq!(trace(into, &[]), ["v = NULL", read, "DO <v>", "end"]);
    let two = [("read", Tell::Rows(&["7", "8"]))];
    assert_eq!(trace(into, &two), ["v = NULL", read, "v := 7", "1172 Result consisted of more than one row"]);
}

#[test]
fn for_loops_end_without_a_condition() {
    let mode = LexMode { dialect: weir_sql::Dialect::MariaDb, ..LexMode::default() };
    let text = "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR (k INT) FOR SELECT a FROM t WHERE b = k; \
                l: FOR r IN c(7) DO DO r.a; ITERATE l; END FOR; FOR i IN REVERSE 1..3 DO DO i; END FOR; END";
    let program = compile(&Routine { text: text.as_bytes(), mode }).unwrap_or_else(|why| panic!("{why}"));
    let mut machine = Machine::new(&program);
    let mut seen = Vec::new();
    let mut fetched = 0;
    while seen.len() < 40 {
        let Some(action) = machine.go_on() else { panic!("it goes on") };
        let columns: Vec<Vec<u8>> = program.variables.iter().map(|one| format!("<{}>", one.name).into()).collect();
        let shown = action.text().map(|text| text.render(|variable| &columns[variable])).unwrap_or_default();
        seen.push(String::from_utf8_lossy(&shown).into_owned());
        let tell = match &action {
            Action::End(ended) => {
                assert_eq!(*ended, Ok(()));
                break;
            }
            Action::Read { by_row, .. } => {
                assert!(*by_row);
                Tell::Rows(&["5"])
            }
            Action::StoreRow(..) => {
                fetched += 1;
                Tell::Done
            }
            Action::Test(_) if seen.iter().filter(|text| text.contains(">=")).count() > 1 => Tell::False,
            _ => Tell::Done,
        };
        machine.answer(answer(&action, tell));
    }
    assert_eq!(fetched, 1);
    let expected = [
        "7",
        "SELECT a FROM t WHERE b = <k>",
        "",
        "DO <a>",
        "3",
        "1",
        "<i> >= <[target_bound]>",
        "DO <i>",
        "<i> - 1",
        "<i> >= <[target_bound]>",
        "",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_is_selected_keeps_its_name() {
    let selects = "p(v INT) SELECT v, v + 1, v AS w, a.v FROM a LIMIT v";
    let expected = "SELECT <v> AS `v`, <v> + 1 AS `v + 1`, <v> AS w, a.v FROM a LIMIT <v>";
    assert_eq!(trace(selects, &[]), [expected, "end"]);
}

#[test]
fn texts_are_prepared_from_values() {
    let dynamic = "p(v INT) BEGIN PREPARE s FROM @v; EXECUTE s USING @v; DEALLOCATE PREPARE s; PREPARE s FROM v; END";
    let expected = ["PREPARE s FROM @v", "EXECUTE s USING @v", "DEALLOCATE PREPARE s", "PREPARE s FROM <v>", "end"];
    assert_eq!(trace(dynamic, &[]), expected);
}

#[test]
fn what_is_not_known_is_refused() {
    for (procedure, why) in [
        ("p() EXECUTE s USING 1", "does not run by itself"),
        ("p() SET sql_mode = ''", "does not run by itself"),
        ("p() SET GLOBAL autocommit = 0", "does not run by itself"),
        ("p(v INT) SET v = 1, autocommit = 0", "does not run by itself"),
        ("p() CASE RAND() WHEN 1 THEN DO 1; END CASE", "CASE of an expression"),
        ("p() BEGIN DECLARE f FLOAT; END", "the type FLOAT"),
        ("p() BEGIN DECLARE s VARCHAR(10) CHARACTER SET latin1; END", "does not keep"),
        ("p(s VARCHAR(3)) SELECT 1 LIMIT s", "LIMIT"),
        ("p() GET DIAGNOSTICS @n = NUMBER", "at the beginning of a handler"),
    ] {
        match compiled(procedure) {
            Ok(_) => panic!("{procedure} is compiled"),
            Err(told) => assert!(told.contains(why), "{procedure}: {told}"),
        }
    }
}
