use weir_plan::{CatalogTableName, FragmentColumn, Merge, Passed, Read};

use super::*;

const CAPABILITIES: Capabilities = Capabilities::DEPRECATE_EOF;

#[derive(Default)]
struct Taken(Vec<Vec<u8>>);

impl Sink for Taken {
    fn put(&mut self, payload: &[u8]) {
        self.0.push(payload.to_vec());
    }

    fn is_full(&self) -> bool {
        false
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A definition of these names (database, alias, table, column's own), extended type and flags.
fn definition(names: [&str; 4], extended: Option<&str>, flags: u16) -> Vec<u8> {
    let [database, alias, table, column] = names;
    let mut out = Vec::new();
    for text in ["def", database, alias, table, "shown", column].into_iter().chain(extended) {
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    out.extend_from_slice(&[0x0c, 45, 0, 20, 0, 0, 0, 0xfd]);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[31, 0, 0]);
    out
}

fn fragment() -> Fragment {
    let column = |name: &str, definition: &str| FragmentColumn {
        name: name.to_owned(),
        definition: definition.to_owned(),
        passed: Passed::Number,
        invisible: false,
    };
    let read = Read::of_one(weir_catalog::ShardId(0), Vec::new(), Vec::new(), String::new());
    assert_eq!(read.merge, Merge::Concatenate);
    Fragment {
        name: "weir_1".to_owned(),
        table: CatalogTableName { database: "d".to_owned(), table: "t".to_owned() },
        columns: vec![column("id", "int NOT NULL"), column("c", "int NULL")],
        primary_key: vec![0],
        unique_keys: Vec::new(),
        keys: Vec::new(),
        read,
        narrowed: Vec::new(),
    }
}

fn head(extended: Option<&str>) -> Vec<Vec<u8>> {
    vec![definition(["d", "T", "T", "id"], extended, 0x5283), definition(["d", "T", "T", "c"], extended, 0x4008)]
}

fn told(capabilities: Capabilities, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let extended = capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA).then_some("json");
    let originals = [Original::new(&fragment(), &head(extended), capabilities)];
    let mut taken = Taken::default();
    let mut sink = Relabelling::new((&originals, &[]), capabilities, &mut taken);
    packets.iter().for_each(|packet| sink.put(packet));
    taken.0
}

#[test]
fn columns_are_told_as_those_of_the_table() {
    let packets = [
        vec![4],
        definition(["d", "a", "weir_1", "id"], None, 0x5028),
        definition(["d", "a", "weir_1", "c"], None, 1),
        definition(["x", "b", "other", "id"], None, 0x1001),
        definition(["d", "a", "weir_1", "none of its columns"], None, 0x1001),
        definition(["d", "a", "weir_1", "a row"], None, 0),
    ];
    let expected = [
        vec![4],
        definition(["d", "a", "T", "id"], None, 0x5222),
        definition(["d", "a", "T", "c"], None, 0x4009),
        packets[3].clone(),
        definition(["d", "a", "T", "none of its columns"], None, 0x1001),
        packets[5].clone(),
    ];
    assert_eq!(told(CAPABILITIES, &packets), expected);
}

#[test]
fn a_table_of_the_servers_own_has_no_keys() {
    let packets =
        [vec![2], definition(["d", "a", "weir_1", "c"], None, 0), definition(["d", "a", "weir_1", "id"], None, 0x1001)];
    let expected =
        [vec![2], definition(["d", "a", "T", "c"], None, 0), definition(["d", "a", "T", "id"], None, 0x1001)];
    assert_eq!(told(CAPABILITIES, &packets), expected);
}

#[test]
fn extended_types_are_the_tables() {
    let capabilities = CAPABILITIES | Capabilities::MARIADB_EXTENDED_METADATA;
    let packets = [vec![1], definition(["d", "a", "weir_1", "c"], Some(""), 0)];
    let expected = [vec![1], definition(["d", "a", "T", "c"], Some("json"), 0x4008)];
    assert_eq!(told(capabilities, &packets), expected);
}

#[test]
fn errors_and_rows_pass() {
    let error = vec![0xff, 1, 4, b'#'];
    assert_eq!(told(CAPABILITIES, std::slice::from_ref(&error)), [error]);
}

#[test]
fn without_an_answer_only_names_change() {
    let originals = [Original::new(&fragment(), &[], CAPABILITIES)];
    let mut taken = Taken::default();
    let mut sink = Relabelling::new((&originals, &[]), CAPABILITIES, &mut taken);
    [vec![1], definition(["d", "a", "weir_1", "id"], None, 0x1021)].iter().for_each(|packet| sink.put(packet));
    assert_eq!(taken.0[1], definition(["d", "a", "t", "id"], None, 0x1021));
}
