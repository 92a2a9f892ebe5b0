//! Values of every type come to the workbench as they are.

use weir_local::Flavor;
use weir_plan::Passed;

use super::{Client, Column, fragment, workbench};
use crate::bed::{Bed, WHOLE};

/// Columns of both kinds of server: the column, and what is compared besides its own text.
const COLUMNS: &[(Column, &str)] = &[
    (("id", "int unsigned NOT NULL", "id", Passed::Number), "id"),
    (("ti", "tinyint NULL", "ti", Passed::Number), "ti"),
    (("su", "smallint(5) unsigned zerofill NULL", "su", Passed::Number), "su"),
    (("mi", "mediumint NOT NULL", "mi", Passed::Number), "mi"),
    (("bi", "bigint NULL", "bi", Passed::Number), "bi"),
    (("bu", "bigint unsigned NULL", "bu", Passed::Number), "bu"),
    (("de", "decimal(65,30) NULL", "de", Passed::Number), "de"),
    (("du", "decimal(10,2) unsigned zerofill NULL", "du", Passed::Number), "du"),
    (("fl", "float NULL", "CAST(fl AS DOUBLE)", Passed::Number), "CAST(fl AS DOUBLE)"),
    (("fd", "float(7,3) NULL", "CAST(fd AS DOUBLE)", Passed::Number), "CAST(fd AS DOUBLE)"),
    (("dx", "double NULL", "dx", Passed::Number), "dx * 1e0"),
    (("dp", "double(20,5) NULL", "dp", Passed::Number), "dp * 1e0"),
    (("bt", "bit(13) NULL", "CAST(bt AS UNSIGNED)", Passed::Number), "HEX(bt)"),
    (("bl", "bit(64) NULL", "CAST(bl AS UNSIGNED)", Passed::Number), "HEX(bl)"),
    (("da", "date NULL", "da", Passed::Ascii), "da"),
    (("tm", "time(6) NULL", "tm", Passed::Ascii), "TIME_TO_SEC(tm)"),
    (("dt", "datetime(6) NULL", "dt", Passed::Ascii), "dt"),
    (("dz", "datetime NULL", "dz", Passed::Ascii), "dz"),
    (("ts", "timestamp(6) NULL", "UNIX_TIMESTAMP(ts)", Passed::Epoch), "UNIX_TIMESTAMP(ts)"),
    (("tz", "timestamp NOT NULL DEFAULT 0", "UNIX_TIMESTAMP(tz)", Passed::Epoch), "UNIX_TIMESTAMP(tz)"),
    (("ye", "year NULL", "CAST(ye AS UNSIGNED)", Passed::Number), "ye + 0"),
    (("ch", "char(10) COLLATE latin1_swedish_ci NULL", "CAST(ch AS BINARY)", Passed::Bytes), "HEX(ch)"),
    (("cb", "char(4) COLLATE utf8mb4_bin NULL", "CAST(cb AS BINARY)", Passed::Bytes), "HEX(cb)"),
    (("vc", "varchar(30) COLLATE ucs2_general_ci NULL", "CAST(vc AS BINARY)", Passed::Bytes), "HEX(vc)"),
    (("vg", "varchar(30) COLLATE gbk_chinese_ci NULL", "CAST(vg AS BINARY)", Passed::Bytes), "HEX(vg)"),
    (("vu", "varchar(50) COLLATE utf8mb4_general_ci NOT NULL", "CAST(vu AS BINARY)", Passed::Bytes), "HEX(vu)"),
    (("tx", "text COLLATE utf16_general_ci NULL", "CAST(tx AS BINARY)", Passed::Bytes), "HEX(tx)"),
    (("lt", "longtext COLLATE utf8mb4_bin NULL", "CAST(lt AS BINARY)", Passed::Bytes), "SHA2(lt, 256)"),
    (("bn", "binary(4) NULL", "bn", Passed::Bytes), "HEX(bn)"),
    (("vb", "varbinary(300) NULL", "vb", Passed::Bytes), "HEX(vb)"),
    (("tb", "tinyblob NULL", "tb", Passed::Bytes), "HEX(tb)"),
    (("lb", "longblob NULL", "lb", Passed::Bytes), "SHA2(lb, 256)"),
    (
        (
            "en",
            "enum('a','b''x','\u{e4}','\\\\n') COLLATE utf8mb4_general_ci NULL",
            "CAST(en AS UNSIGNED)",
            Passed::Number,
        ),
        "en + 0",
    ),
    (("se", "set('x','y','z') COLLATE latin1_swedish_ci NULL", "CAST(se AS UNSIGNED)", Passed::Number), "se + 0"),
    (("ge", "geometry NULL", "ge", Passed::Bytes), "HEX(ge)"),
    (("pt", "point NULL", "pt", Passed::Bytes), "HEX(pt)"),
    (("inv", "int NULL", "inv", Passed::Number), "inv"),
    (("gv", "int NULL", "gv", Passed::Number), "gv"),
    (("gs", "varchar(20) COLLATE utf8mb4_general_ci NULL", "CAST(gs AS BINARY)", Passed::Bytes), "HEX(gs)"),
];

/// Those of one kind of server only.
const OF_MARIADB: &[(Column, &str)] = &[
    (("js", "longtext COLLATE utf8mb4_bin NULL", "CAST(js AS BINARY)", Passed::Bytes), "HEX(js)"),
    (("uu", "uuid NULL", "CAST(uu AS BINARY)", Passed::Bytes), "HEX(uu)"),
    (("i4", "inet4 NULL", "CAST(i4 AS BINARY)", Passed::Bytes), "HEX(i4)"),
    (("i6", "inet6 NULL", "CAST(i6 AS BINARY)", Passed::Bytes), "HEX(i6)"),
];
const OF_MYSQL: &[(Column, &str)] = &[
    (
        ("js", "json NULL", "CAST(CAST(js AS CHAR CHARACTER SET utf8mb4) AS BINARY)", Passed::Utf8),
        "JSON_TYPE(JSON_EXTRACT(js, '$.c[1]'))",
    ),
    (("ve", "vector(3) NULL", "ve", Passed::Bytes), "HEX(ve)"),
    (("sr", "geometry NULL", "sr", Passed::Bytes), "ST_SRID(sr)"),
];

/// What CREATE TABLE says of some columns beyond the definition that they are gathered with.
fn defined(column: &Column, mariadb: bool) -> String {
    let (name, definition, ..) = *column;
    match name {
        "id" => format!("{name} {definition} PRIMARY KEY"),
        "inv" => format!("{name} int INVISIBLE DEFAULT 5"),
        "gv" => format!("{name} int GENERATED ALWAYS AS (mi + 1) VIRTUAL"),
        "gs" => {
            let collation = "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
            format!("{name} {collation} GENERATED ALWAYS AS (CONCAT(mi, 'x')) STORED")
        }
        "js" if mariadb => format!("{name} json"),
        _ => format!("{name} {definition}"),
    }
}

/// Rows as the values of all columns but generated ones; `_` are values of the columns of one kind of server.
const ROWS: [&str; 5] = [
    "1, -128, 7, -8388608, -9223372036854775808, 18446744073709551615, \
     -99999999999999999999999999999999999.999999999999999999999999999999, 1.5, 0.1, 123.456, 5e-324, 1.1, b'1010101010101', \
     x'ffffffffffffffff', '0000-00-00', '-838:59:59', '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59', \
     FROM_UNIXTIME(93845.123456), FROM_UNIXTIME(2147483647), 1901, _utf8mb4'\u{e4}', 'a ', _utf8mb4'\u{65e5}\u{672c}', \
     _utf8mb4'\u{4e2d}\u{6587}\u{8a98}', 'x''\\\\\\0y ', _utf8mb4'\u{1f600}', 'l', x'0000', \
     x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2022232425262728292a5c5c275c27c3c3a4e4feff', x'00ff', \
     REPEAT(x'005c27ff', 700000), 'a', 'x,z', ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('POINT(-1.5 2)'), 7",
    "2, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '0000-00-00', \
     NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "3, 127, 65535, 8388607, 9223372036854775807, 0, 0.000000000000000000000000000001, 99999999.99, -3.4028234e38, -0.001, \
     -1.7976931348623157e308, -0.00001, 0, 0, '2021-02-31', '00:00:00.000001', '0000-00-00 00:00:00', '0000-00-00 00:00:00', \
     '0000-00-00', '0000-00-00', 0, '', '', '', '', 'ab', '', REPEAT('q', 100000), '', '', '', '', '', '', \
     ST_GeomFromText('LINESTRING(0 0,1 1)'), NULL, NULL",
    "4, 0, 1, 1, 1, 1, 1, 1, 1.17549e-38, 1, 2.2250738585072014e-308, 1, 1, 1, '1000-01-01', '838:59:59', '1000-00-01', \
     '2020-00-00 01:02:03', FROM_UNIXTIME(1.5), FROM_UNIXTIME(1), 2155, 'a', 'b', 'c', 'd', 'e', 'f', 'h', 'i', 'j', 'k', 'l', 'b''x', \
     '', ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))'), NULL, 1",
    "5, 0, 1, 1, 1, 1, 1, 1, -0e0, 1, -0e0, -0e0, 1, 1, '1000-01-01', '-00:00:00.000001', '1000-00-01', '2020-00-00 01:02:03', \
     FROM_UNIXTIME(1.5), FROM_UNIXTIME(1), 2155, 'a', 'b', 'c', 'd', 'e', 'f', 'h', 'i', 'j', 'k', 'l', '\\\\n', 'y', \
     NULL, NULL, 1",
];
const ROWS_OF_MARIADB: [&str; 5] = [
    "'{\"a\": 1.10}', '123e4567-e89b-12d3-a456-426655440000', '1.2.3.4', '::1'",
    "NULL, NULL, NULL, NULL",
    "'\"s\"', '00000000-0000-0000-0000-000000000000', '0.0.0.0', '::'",
    "'null', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '255.255.255.255', '::ffff:1.2.3.4'",
    "'[]', '27275c5c-2727-5c27-5c27-5c5c5c5c2727', '39.92.39.92', '2727:5c5c:2727:5c27:5c5c::27'",
];
const ROWS_OF_MYSQL: [&str; 5] = [
    "'{\"a\": 1.10, \"b\": \"\u{e4}\\\\u0000\\\\n\\'\", \"c\": [1e100, 12345678901234567890, 0.1]}', TO_VECTOR('[1,2.5,-3e38]'), \
     ST_GeomFromText('POINT(1 2)', 4326)",
    "NULL, NULL, NULL",
    "'\"s\"', TO_VECTOR('[0,0,0]'), ST_GeomFromText('POINT(1 2)')",
    "'null', NULL, NULL",
    "'{\"c\": [0, true]}', NULL, NULL",
];

pub(super) async fn all(bed: &Bed) {
    let mariadb = bed.flavor == Flavor::MariaDb;
    let (own, rows) = if mariadb { (OF_MARIADB, ROWS_OF_MARIADB) } else { (OF_MYSQL, ROWS_OF_MYSQL) };
    let columns: Vec<(Column, &str)> = COLUMNS.iter().chain(own).copied().collect();
    make(bed, &columns, &rows, mariadb).await;
    let gathered: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
    let names: Vec<&str> = gathered.iter().map(|column| column.0).collect();
    let checks: Vec<&str> = columns.iter().map(|(_, check)| *check).collect();
    // Settings under which other values would be stored, or other texts be read.
    let sessions: [&[(&str, &str)]; 3] = [
        &[("time_zone", "+05:30")],
        &[
            ("sql_mode", "NO_BACKSLASH_ESCAPES,ANSI_QUOTES"),
            ("character_set_results", "binary"),
            ("time_zone", "-03:00"),
        ],
        &[
            ("sql_mode", "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,PAD_CHAR_TO_FULL_LENGTH"),
            ("character_set_client", "gbk"),
            ("character_set_connection", "latin1"),
            ("collation_connection", "latin1_swedish_ci"),
            ("character_set_results", "koi8r"),
        ],
    ];
    for variables in sessions {
        let client = Client { variables, ..Client::new(bed) };
        for selected in [&names, &checks] {
            let query = |table: &str| format!("SELECT {} FROM d.{table} AS t ORDER BY id", selected.join(", "));
            let on_bench = workbench(vec![fragment("weir 1", "every", &gathered)], &query("`weir 1`"));
            client.same(&query("every"), &on_bench).await;
        }
    }
}

/// Makes the table with its rows: those of odd places on the second shard.
async fn make(bed: &Bed, columns: &[(Column, &str)], own: &[&str; 5], mariadb: bool) {
    let defined: Vec<String> = columns.iter().map(|(column, _)| defined(column, mariadb)).collect();
    let inserted: Vec<&str> =
        columns.iter().map(|(column, _)| column.0).filter(|name| !matches!(*name, "gv" | "gs")).collect();
    for server in [0, 1, WHOLE] {
        let mut part = bed.part(server).await;
        let mut run = async |text: &str| {
            part.lease.query(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        };
        run("SET NAMES utf8mb4, sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+01:00'").await;
        run(&format!("CREATE TABLE d.every ({}) DEFAULT CHARSET = utf8mb4", defined.join(", "))).await;
        for (at, (row, own)) in ROWS.iter().zip(own).enumerate() {
            if server == WHOLE || server == at % 2 {
                run(&format!("INSERT INTO d.every ({}) VALUES ({row}, {own})", inserted.join(", "))).await;
            }
        }
        // Its settings are not those of its profile.
        part.lease.retired = true;
    }
}
