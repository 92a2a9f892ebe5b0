//! Where compound statements end.

use crate::ast::StatementKind;
use crate::parse::testing::{MARIADB, stops};
use crate::{Bump, parse};

#[test]
fn a_compound_statement_ends_after_its_own_end() {
    for body in [
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN NOT ATOMIC END",
        "BEGIN NOT ATOMIC IF a THEN BEGIN END; END IF; SELECT IF(a, 1, 2); END",
        "IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE IF c THEN SELECT 3; END IF; END IF",
        "IF a THEN SELECT CASE WHEN b THEN IF(c, 1, 2) ELSE IF(d, 3, 4) END; END IF",
        "CASE a WHEN 1 THEN SELECT 1; ELSE BEGIN END; END CASE",
        "CASE WHEN CASE a WHEN 1 THEN 2 END THEN SELECT 1; END CASE",
        "LOOP SELECT REPEAT('a', 2); END LOOP",
        "WHILE a DO DO IF(b, 1, 2); END WHILE",
        "REPEAT SELECT 1; UNTIL a END REPEAT",
        "FOR i IN 1..3 DO x: LOOP LEAVE x; END LOOP x; END FOR",
        "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR NOT FOUND, SQLSTATE '23000' BEGIN END; END",
        "BEGIN NOT ATOMIC DECLARE c CURSOR FOR SELECT 1; OPEN c; CLOSE c; END",
        "BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR SQLEXCEPTION IF a THEN SELECT 1; END IF; END",
    ] {
        let sql = format!("{body}; SELECT 1");
        let arena = Bump::new();
        let parsed = parse(&arena, sql.as_bytes(), MARIADB).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let [first, _] = parsed.statements else { panic!("{sql}: {:?}", parsed.statements) };
        assert_eq!(&sql[first.span.range()], body);
        let StatementKind::Compound(compound) = first.kind else { panic!("{sql}: {first:?}") };
        let verb = String::from_utf8_lossy(compound.verb.name).into_owned();
        assert_eq!(format!("{verb} {}", &sql[compound.body.range()]), body);
    }
}

#[test]
fn an_open_one_is_refused() {
    for sql in ["IF a THEN SELECT 1", "BEGIN NOT ATOMIC IF a THEN SELECT 1; END", "LOOP SELECT CASE WHEN 1 THEN 2; END"]
    {
        stops(sql, MARIADB, "");
    }
}
