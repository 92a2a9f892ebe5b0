use super::*;
use crate::definition::{DefinitionKind, Placed, Sent, Undo};
use crate::placement::Placement;

fn catalog() -> Catalog {
    let mut catalog = Catalog { shards: vec!["s1".into(), "s2".into()], ..Catalog::default() };
    let shards = vec![ShardId(0), ShardId(1)];
    catalog.apply_changes(&[Change::AddDatabase("shop".into(), shards)], &Told::default()).expect("it needs nothing");
    catalog
}

fn table() -> Table {
    Table {
        placement: Placement::Global,
        columns: Vec::new(),
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment: None,
        clause: "global".into(),
        hot_merge: false,
        by_default: false,
    }
}

fn definition(objects: Vec<Object>) -> Definition {
    Definition {
        id: 0,
        statement: Sent { text: Some("CREATE TABLE t (id INT)".into()), ..Sent::default() },
        kind: DefinitionKind::CreateTable,
        objects,
        shards: vec![(ShardId(0), Progress::Pending), (ShardId(1), Progress::Pending)],
        changes: Vec::new(),
        undo: Undo::Impossible,
    }
}

#[test]
fn a_new_database_has_its_slots_spread_over_its_shards() {
    let catalog = catalog();
    let (_, shop) = catalog.database(b"shop").expect("it was added");
    assert_eq!(shop.slots.0[0], ShardId(0));
    assert_eq!(shop.slots.0[4095], ShardId(1));
}

#[test]
fn tables_come_change_their_names_and_go() {
    let mut catalog = catalog();
    let (t, u) = (Object::within("shop", "t"), Object::within("shop", "u"));
    let placed = Placed::new(Placement::Global, Vec::new(), "global");
    let known = Told { tables: BTreeMap::from([(t.clone(), table())]), ..Told::default() };
    let steps = [
        (Change::AddTable(t.clone(), placed), vec!["t"]),
        (Change::Rename(t.clone(), u.clone()), vec!["u"]),
        (Change::DropTable(u), vec![]),
    ];
    for (step, left) in steps {
        catalog.apply_changes(&[step], &known).expect("the database is there");
        let (_, shop) = catalog.database(b"shop").expect("it was added");
        assert_eq!(shop.tables.keys().collect::<Vec<_>>(), left);
    }
    let elsewhere = Change::DropTable(Object::within("nowhere", "t"));
    assert_eq!(catalog.apply_changes(&[elsewhere], &known).map_err(|failure| failure.code), Err(1049));
}

#[test]
fn a_definition_stands_in_the_way_of_what_it_meets() {
    let mut catalog = catalog();
    let id = catalog.begin_definition(definition(vec![Object::within("shop", "t")]));
    for (object, meets) in [
        (Object::within("shop", "t"), true),
        (Object::within("shop", "u"), false),
        (Object::within("other", "t"), false),
        (Object::database("shop"), true),
        (Object::database("other"), false),
    ] {
        let found = catalog.definition_in_the_way(std::slice::from_ref(&object)).map(|found| found.id);
        assert_eq!(found, meets.then_some(id), "{object}");
    }
    catalog.forget_definition(id);
    assert_eq!(catalog.definition_in_the_way(&[Object::database("shop")]), None);
    assert_eq!(catalog.begin_definition(definition(Vec::new())), id + 1, "numbers are not used twice");
}

#[test]
fn progress_says_which_shards_have_it() {
    let mut catalog = catalog();
    let id = catalog.begin_definition(definition(Vec::new()));
    assert!(!catalog.definition(id).expect("it is there").is_begun());
    catalog.note_progress(id, &[(ShardId(0), Progress::Done), (ShardId(1), Progress::Failed("lost".into()))]);
    let known = catalog.definition(id).expect("it is there");
    assert!(known.is_begun() && !known.is_done());
    assert_eq!(known.sides(&catalog), (vec!["s1".to_owned()], vec!["s2 (lost)".to_owned()]));
    catalog.note_progress(id, &[(ShardId(1), Progress::Done)]);
    assert!(catalog.definition(id).expect("it is there").is_done());
}

#[test]
fn a_definition_comes_back_from_the_document() {
    let mut catalog = catalog();
    catalog.begin_definition(definition(vec![Object::database("shop")]));
    let text = serde_json::to_string(&catalog).expect("it has no odd keys");
    assert_eq!(serde_json::from_str::<Catalog>(&text).expect("it was written so"), catalog);
}

#[test]
fn foreign_keys_follow_the_table_that_they_refer_to() {
    let mut catalog = catalog();
    let [parent, elder, next, child] = ["parent", "elder", "next", "child"].map(|name| Object::within("shop", name));
    let placed = || Placed::new(Placement::Global, Vec::new(), "global");
    let key = crate::table::ForeignKey {
        name: "f".into(),
        columns: vec![0],
        table: ("shop".into(), "parent".into()),
        references: vec!["id".into()],
    };
    let referring = Table { foreign_keys: vec![key], ..table() };
    let known = Told {
        tables: BTreeMap::from([(parent.clone(), table()), (next.clone(), table()), (child.clone(), referring)]),
        ..Told::default()
    };
    let added = [&parent, &next, &child].map(|object| Change::AddTable(object.clone(), placed()));
    catalog.apply_changes(&added, &known).expect("the database is there");
    let swapped = [Change::Rename(parent.clone(), elder), Change::Rename(next, parent)];
    catalog.apply_changes(&swapped, &known).expect("the tables are there");
    let child = &catalog.databases["shop"].tables["child"];
    assert_eq!(child.foreign_keys[0].table, ("shop".to_owned(), "elder".to_owned()));
}
