use weir_catalog::ShardId;
use weir_plan::{ComputedColumn, Read};

use super::super::super::row::Format;
use super::*;

fn column(kind: ColumnKind, code: u8, decimals: u8, length: u32) -> Column {
    Column { kind, code, collation: 45, decimals, length, zerofill: false }
}

#[test]
fn texts_must_come_whole() {
    assert_eq!(unfit_charset(Some("utf8mb4"), Some("utf8mb4_bin")), None);
    assert_eq!(unfit_charset(Some("utf8mb3"), Some("latin1_bin")), None);
    assert!(unfit_charset(Some("utf8mb3"), Some("utf8mb4_bin")).is_some());
    assert!(unfit_charset(Some("latin1"), Some("latin1_bin")).is_some() && unfit_charset(None, None).is_some());
}

#[test]
fn documents_are_ascii_and_leave_out_what_is_null() {
    let columns =
        [column(ColumnKind::Integer { width: 8, unsigned: false }, 8, 0, 20), column(ColumnKind::Bytes, 0xfd, 0, 80)];
    let given = |column: usize, collation: Option<&str>| GivenValue {
        column,
        average: None,
        collation: collation.map(str::to_owned),
        text: String::new(),
    };
    let read = Read::of_one(ShardId(0), Vec::new(), Vec::new(), String::new());
    let computed = Computed {
        head: read.clone(),
        groups: read,
        columns: vec![ComputedColumn::Computed(0)],
        given: vec![given(1, Some("utf8mb4_bin")), given(0, None)],
        text: b"SELECT 1".to_vec(),
        parameters: Vec::new(),
        whole: false,
        skip: 0,
        take: None,
        reason: String::new(),
    };
    let types = Types::new(&computed, &columns, Format::Text, Some("utf8mb4".to_owned())).expect("types that fit");
    let rows = [b"\x02-7\x06a\"\xf0\x9f\x98\x80".to_vec(), b"\xfb\x01\\".to_vec(), b"\xfb\xfb".to_vec()];
    let batch = types.batch(&rows).expect("values of their types");
    let expected = r#"[{"c0":"a\"\ud83d\ude00","c1":"-7"},{"c0":"\\"},{}]"#;
    assert_eq!((batch.rows, &*batch.document), (3, expected));
    let text =
        String::from_utf8(types.text_with(&Document::Literal("[]".to_owned()), &|path| format!("_utf8mb4'{path}'")))
            .expect("a text");
    assert_eq!(
        text,
        "WITH `weir` AS (SELECT * FROM JSON_TABLE(_utf8mb4 x'5B5D', _utf8mb4'$[*]' COLUMNS (`n` FOR ORDINALITY, \
         `c0` LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH _utf8mb4'$.c0' NULL ON EMPTY ERROR ON ERROR, \
         `c1` BIGINT PATH _utf8mb4'$.c1' NULL ON EMPTY ERROR ON ERROR)) AS `weir`) SELECT 1"
    );
}

#[test]
fn a_document_is_no_longer_than_a_statement_can_be() {
    let columns = [column(ColumnKind::Bytes, 0xfd, 0, 80)];
    let read = Read::of_one(ShardId(0), Vec::new(), Vec::new(), String::new());
    let given = GivenValue { column: 0, average: None, collation: Some("utf8mb4_bin".to_owned()), text: String::new() };
    let computed = Computed {
        head: read.clone(),
        groups: read,
        columns: Vec::new(),
        given: vec![given],
        text: Vec::new(),
        parameters: Vec::new(),
        whole: false,
        skip: 0,
        take: None,
        reason: String::new(),
    };
    let types = Types::new(&computed, &columns, Format::Text, Some("utf8mb4".to_owned())).expect("types that fit");
    let row = |bytes: usize| {
        let mut row = vec![0xfd];
        row.extend_from_slice(&(bytes as u32).to_le_bytes()[..3]);
        row.resize(4 + bytes, b'a');
        row
    };
    let rows = vec![row(1 << 20); 8];
    let batch = types.batch(&rows).expect("some of the rows");
    assert!(batch.rows == 5 && batch.document.len() <= MOST_DOCUMENT + 1, "{} rows", batch.rows);
    assert!(types.batch(&[row(MOST_DOCUMENT)]).is_err_and(|failure| failure.code == 1038));
}
