//! Values and keys of every type arrive exactly, by copying and by following.

use weir_local::Flavor;
use weir_reshard::{Controls, Fixed, Plan, VerifySettings};

use crate::lab::{ByRemainder, Lab};

/// Name, definition, rows, and changes while it is followed: each with a key of another type.
struct Case {
    name: &'static str,
    columns: &'static str,
    rows: &'static str,
    changes: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "k_int",
        columns: "id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20)",
        rows: "(0,'zero'),(-5,NULL),(2147483647,'x'),(-2147483648,'')",
        changes: &[
            "UPDATE k_int SET id = -6 WHERE id = -5",
            "INSERT INTO k_int VALUES (7,'new')",
            "DELETE FROM k_int WHERE id = 0",
        ],
    },
    Case {
        name: "k_big",
        columns: "id BIGINT UNSIGNED PRIMARY KEY, a DOUBLE, b FLOAT, c DECIMAL(65,30)",
        rows: "(18446744073709551615,1e308,0.1,-1.5),(9223372036854775808,5e-324,16777217,NULL),(0,-0.0,NULL,12345678901234567890.123456789)",
        changes: &["UPDATE k_big SET b = 3.14159 WHERE id > 5", "DELETE FROM k_big WHERE id = 9223372036854775808"],
    },
    Case {
        name: "k_uint",
        columns: "id INT UNSIGNED, m MEDIUMINT UNSIGNED, s SMALLINT, t TINYINT UNSIGNED, PRIMARY KEY (id, m, s, t)",
        rows: "(4000000000,16000000,-32768,255),(4000000000,16000000,-1,255),(1,2,3,4)",
        changes: &["UPDATE k_uint SET s = 5 WHERE s = -1", "DELETE FROM k_uint WHERE id = 1"],
    },
    Case {
        name: "k_text",
        columns: "a VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, b CHAR(5) CHARACTER SET latin1, n INT, PRIMARY KEY (a, b)",
        rows: "('Ä,\\'\\\\','ü',1),('abc','x ',2),('ABD','',3),('😀','é,',4),('','',5)",
        changes: &[
            "UPDATE k_text SET a = 'ABC' WHERE a = 'abc'",
            "UPDATE k_text SET b = 'q' WHERE n = 4",
            "DELETE FROM k_text WHERE a = ''",
        ],
    },
    Case {
        name: "k_wide",
        columns: "a VARCHAR(10) CHARACTER SET utf16 PRIMARY KEY, b TEXT CHARACTER SET sjis, c TEXT CHARACTER SET gbk",
        rows: "('aÄ😀',_sjis x'835C825C',_gbk x'B2E25C'),('\\\\','x','y')",
        changes: &["UPDATE k_wide SET b = _sjis x'835C27' WHERE a = '\\\\'"],
    },
    Case {
        name: "k_bytes",
        columns: "a VARBINARY(20), b BINARY(4), v BLOB, PRIMARY KEY (a, b)",
        rows: "(x'00',x'0100',x'00FF27225C0A'),(x'0000',x'',NULL),(x'',x'FFFFFFFF',''),('a,b','a''',REPEAT('\\\\',3000))",
        changes: &["UPDATE k_bytes SET b = x'0200' WHERE a = x'00'", "DELETE FROM k_bytes WHERE a = x'0000'"],
    },
    Case {
        name: "k_times",
        columns: "d DATE, t TIME(3), dt DATETIME(6), y YEAR, n INT, PRIMARY KEY (d, t, dt, y)",
        rows: "('2020-02-29','-838:59:59','9999-12-31 23:59:59.999999',2155,1),('0000-00-00','-00:00:00.001','0000-00-00 00:00:00',0,2),\
               ('2020-00-00','12:34:56.789','1000-01-01 00:00:00.000001',1901,3),('2020-02-30','00:00:00','2020-01-01 00:00:00',2020,4)",
        changes: &[
            "UPDATE k_times SET t = '-01:02:03.456' WHERE n = 2",
            "UPDATE k_times SET dt = '2021-02-03 04:05:06.789' WHERE n = 3",
            "DELETE FROM k_times WHERE n = 4",
        ],
    },
    Case {
        name: "k_stamp",
        columns: "ts TIMESTAMP(2) NOT NULL DEFAULT 0, u TIMESTAMP NULL, n INT, PRIMARY KEY (ts)",
        rows: "('2020-10-25 01:30:00.25',NULL,1),('0000-00-00 00:00:00','2038-01-19 03:14:07',2),('1970-01-01 00:00:01','0000-00-00 00:00:00',3)",
        changes: &[
            "UPDATE k_stamp SET ts = '2020-10-25 00:30:00.99' WHERE n = 1",
            "UPDATE k_stamp SET u = NULL WHERE n = 2",
        ],
    },
    Case {
        name: "k_decimal",
        columns: "a DECIMAL(30,10), b DECIMAL(5,5) UNSIGNED, n INT, PRIMARY KEY (a, b)",
        rows: "(-12345678901234567890.0123456789,0.00001,1),(0,0,2),(-0.0000000001,0.99999,3),(999,0.5,4)",
        changes: &["UPDATE k_decimal SET a = -a WHERE n IN (1, 4)", "DELETE FROM k_decimal WHERE n = 3"],
    },
    Case {
        name: "k_sets",
        columns: "e ENUM('z','a','m') NOT NULL, s SET('x','y','w') NOT NULL, b BIT(17) NOT NULL, n INT, PRIMARY KEY (e, s, b)",
        rows: "('z','x,w',b'10000000000000001',1),('a','',0,2),('m','y',65536,3),(0,'x',1,4)",
        changes: &[
            "UPDATE k_sets SET e = 'm' WHERE n = 2",
            "UPDATE k_sets SET s = 'x,y,w', b = 99 WHERE n = 1",
            "DELETE FROM k_sets WHERE n = 4",
        ],
    },
    Case {
        name: "k_float",
        columns: "f FLOAT, d DOUBLE, n INT, PRIMARY KEY (f, d)",
        rows: "(0.1,0.1,1),(1.5,-5e-324,2),(16777216,1e300,3)",
        changes: &["UPDATE k_float SET d = 0.3 WHERE n = 1", "DELETE FROM k_float WHERE n = 2"],
    },
    Case {
        name: "k_unique",
        columns: "a INT, u VARCHAR(10) NOT NULL, g INT AS (a * 2) STORED, v INT AS (a + 1) VIRTUAL, UNIQUE KEY (u)",
        rows: "(1,'one',DEFAULT,DEFAULT),(2,'two',DEFAULT,DEFAULT),(NULL,'none',DEFAULT,DEFAULT)",
        changes: &["UPDATE k_unique SET a = 5 WHERE u = 'one'", "UPDATE k_unique SET u = 'three' WHERE a = 2"],
    },
    Case {
        name: "k_json",
        columns: "id INT PRIMARY KEY, j JSON, g GEOMETRY, h LONGTEXT",
        rows: "(1,'{\"a\": [1, 2.5, \"x\\'\\\\\\\\\"], \"b\": null}',ST_GeomFromText('POINT(1 2)'),REPEAT('long ä',20000)),(2,NULL,NULL,NULL)",
        changes: &[
            "UPDATE k_json SET j = JSON_SET(j, '$.c', 1) WHERE id = 1",
            "UPDATE k_json SET h = NULL WHERE id = 1",
        ],
    },
    Case {
        name: "k_case",
        columns: "`a``b,c` INT PRIMARY KEY, `select` INT",
        rows: "(1,1),(2,2)",
        changes: &["UPDATE k_case SET `a``b,c` = 3 WHERE `select` = 2"],
    },
];

fn every_type(flavor: Flavor, options: &[&str]) {
    let lab = Lab::new(flavor, 2, options);
    let mut tables = Vec::new();
    let settings = "SET sql_mode='ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO', time_zone='+00:00'";
    for case in CASES {
        let definition = format!("CREATE TABLE {} ({}) ENGINE=InnoDB", case.name, case.columns);
        for (shard, schema) in [(0, "d"), (0, "weir_move_1"), (1, "weir_move_1")] {
            lab.run(shard, &[settings, "SET NAMES utf8mb4", &format!("USE {schema}"), &definition]);
        }
        let insert = format!("INSERT INTO d.{} VALUES {}", case.name, case.rows);
        lab.run(0, &[settings, "SET NAMES utf8mb4", &insert]);
        tables.push(lab.table_plan(case.name, &[0], &[0, 1], ByRemainder::new(0, &[0, 1])));
    }
    let plan = Plan { tables };
    // A chunk for each row: each value of a key is a bound.
    let controls = Controls::default();
    controls.set_most_rows_per_chunk(1);
    let handle = lab.start_with(&plan, None, controls).expect("it starts");
    lab.copied(&handle);
    for case in CASES {
        lab.assert_equal(case.name, &[0], &[0, 1]);
    }
    for change in CASES.iter().flat_map(|case| case.changes) {
        lab.run(0, &[settings, "SET NAMES utf8mb4", "USE d", change]);
    }
    lab.caught_up(&handle);
    for case in CASES {
        lab.assert_equal(case.name, &[0], &[0, 1]);
    }
    let verified = lab.runtime.block_on(handle.verify(VerifySettings::default())).expect("it is compared");
    assert_eq!(verified.differences, []);
    let rows: usize = CASES.iter().map(|case| lab.rows("d", case.name, &[0]).len()).sum();
    assert!(verified.rows == rows as u64 && verified.chunks >= rows as u64, "{verified:?}, {rows} rows");
}

#[test]
fn mariadb_values_of_every_type_arrive_exactly() {
    every_type(Flavor::MariaDb, &[]);
}

#[test]
fn mysql_values_of_every_type_arrive_exactly() {
    every_type(Flavor::MySql, &[]);
}

#[test]
fn mariadb_compressed_events_of_minimal_images_are_read() {
    every_type(
        Flavor::MariaDb,
        &["log-bin-compress=ON", "log-bin-compress-min-len=10", "binlog-row-image=MINIMAL", "binlog-checksum=NONE"],
    );
}

#[test]
fn mysql_compressed_transactions_of_minimal_images_are_read() {
    every_type(
        Flavor::MySql,
        &[
            "binlog-transaction-compression=ON",
            "binlog-row-image=MINIMAL",
            "binlog-row-value-options=PARTIAL_JSON",
            "gtid-mode=OFF",
            "enforce-gtid-consistency=OFF",
        ],
    );
}

#[test]
fn mariadb_invisible_columns_are_moved_and_every_target_gets_rows_that_belong_everywhere() {
    let lab = Lab::new(Flavor::MariaDb, 2, &[]);
    lab.create("CREATE TABLE t (id INT PRIMARY KEY, hidden INT INVISIBLE DEFAULT 5, u UUID, i INET6)", &[0], &[0, 1]);
    lab.run(0, &["INSERT INTO d.t (id, hidden, u, i) VALUES (1, 2, UUID(), '::1'), (2, NULL, NULL, 'fe80::2')"]);
    let plan = Plan { tables: vec![lab.table_plan("t", &[0], &[0, 1], std::sync::Arc::new(Fixed::Everywhere))] };
    let handle = lab.start(&plan, None).expect("it starts");
    lab.copied(&handle);
    lab.run(0, &["UPDATE d.t SET hidden = 9 WHERE id = 2"]);
    lab.caught_up(&handle);
    for target in [0, 1] {
        lab.assert_equal("t", &[0], &[target]);
    }
}
