//! Which changes of the catalog may change the plans of which statements.

use super::*;
use crate::definition::{Definition, Placed, Told};
use crate::object::Object;
use crate::placement::{Placement, ShardId, SlotMap};
use crate::routine::RoutineKind;
use crate::table::{ForeignKey, Table};
use crate::{DefinitionKind, Sent, Undo};

fn table(parent: Option<&str>) -> Table {
    let key = |name: &str| ForeignKey {
        name: "f".into(),
        columns: vec![0],
        table: ("shop".into(), name.into()),
        references: vec!["id".into()],
    };
    Table {
        placement: Placement::Global,
        columns: Vec::new(),
        primary_key: vec![0],
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: parent.map(key).into_iter().collect(),
        triggers: false,
        auto_increment: None,
        clause: "global".into(),
        hot_merge: false,
        by_default: false,
    }
}

fn routine(text: &str) -> Routine {
    let text = text.to_owned();
    Routine { text, sql_mode: String::new(), collation: String::new(), database_collation: String::new() }
}

fn add(name: &str, parent: Option<&str>) -> (Change, Told) {
    let object = Object::within("shop", name);
    let change = Change::AddTable(object.clone(), Placed::new(Placement::Global, Vec::new(), "global"));
    (change, Told { tables: [(object, table(parent))].into(), ..Told::default() })
}

fn changed(catalog: &Catalog, (change, told): &(Change, Told)) -> Catalog {
    let mut changed = catalog.clone();
    changed.version += 1;
    changed.apply_changes(std::slice::from_ref(change), told).expect("the database is known");
    changed
}

/// Tables `a`, `b`, `parent`, `child` (of `parent`), `grandchild` (of `child`); `of_a`, a view; `over`, a view upon it; `f`, which
/// reads `b`.
fn catalog() -> Catalog {
    let mut catalog = Catalog { shards: vec!["s1".into(), "s2".into()], ..Catalog::default() };
    let shop = Change::AddDatabase("shop".into(), vec![ShardId(0), ShardId(1)]);
    catalog = changed(&catalog, &(shop, Told::default()));
    let tables = [("a", None), ("b", None), ("parent", None), ("child", Some("parent")), ("grandchild", Some("child"))];
    for (name, parent) in tables {
        catalog = changed(&catalog, &add(name, parent));
    }
    for (name, query) in [("of_a", "SELECT * FROM `shop`.`a`"), ("over", "SELECT * FROM `shop`.`of_a`")] {
        let view = Change::PutView(Object::within("shop", name), query.into());
        catalog = changed(&catalog, &(view, Told::default()));
    }
    let f = routine("CREATE FUNCTION f() RETURNS INT RETURN (SELECT MAX(id) FROM b)");
    catalog.put_routine(&Object::within("shop", "f"), RoutineKind::Function, Some(f));
    catalog
}

/// Which of these statements a change touches.
fn touched<'a>(change: impl FnOnce(&Catalog) -> Catalog, statements: &[&'a str]) -> Vec<&'a str> {
    let old = catalog();
    let new = change(&old);
    let words = |text: &str| Words::of(text.as_bytes(), Some(b"shop"), &old);
    let difference = Difference::between(&old, &new);
    assert_eq!(difference, Difference::between(&new, &old), "it does not matter which is the older one");
    statements.iter().copied().filter(|text| difference.touches(&words(text))).collect()
}

const STATEMENTS: [&str; 9] = [
    "SELECT * FROM a",
    "SELECT * FROM b",
    "SELECT * FROM `OVER`",
    "SELECT f()",
    "DELETE FROM parent",
    "DELETE FROM grandchild",
    "SELECT * FROM unknown",
    "SELECT * FROM information_schema.tables",
    "SELECT 1",
];
const INFORMATION: &str = STATEMENTS[7];

#[test]
fn a_change_touches_the_statements_that_mean_it() {
    let within = |name: &str| Object::within("shop", name);
    let cases: Vec<(Change, Vec<&str>)> = vec![
        (Change::DropTable(within("a")), vec![STATEMENTS[0], STATEMENTS[2], INFORMATION]),
        (Change::DropTable(within("b")), vec![STATEMENTS[1], STATEMENTS[3], INFORMATION]),
        (Change::DropTable(within("grandchild")), vec![STATEMENTS[4], STATEMENTS[5], INFORMATION]),
        (Change::PutView(within("of_a"), "SELECT 1".into()), vec![STATEMENTS[2], INFORMATION]),
        (Change::PutView(within("unknown"), "SELECT 1".into()), vec![STATEMENTS[6], INFORMATION]),
        (Change::DropView(within("over")), vec![STATEMENTS[2], INFORMATION]),
        (
            Change::Rename(within("b"), within("unknown")),
            vec![STATEMENTS[1], STATEMENTS[3], STATEMENTS[6], INFORMATION],
        ),
        (Change::DropRoutine(within("f"), RoutineKind::Function), vec![STATEMENTS[3], INFORMATION]),
        (Change::HideFunctions("F".into()), vec![STATEMENTS[3], INFORMATION]),
        (Change::PutTrigger(within("t"), within("b")), vec![STATEMENTS[1], STATEMENTS[3], INFORMATION]),
        (Change::DropDatabase("shop".into()), STATEMENTS.to_vec()),
        (Change::AddDatabase("other".into(), vec![ShardId(0)]), STATEMENTS.to_vec()),
        (Change::DefaultSingle("shop".into(), true), STATEMENTS.to_vec()),
        (Change::ResetSequence(within("a")), vec![]),
    ];
    for (change, wanted) in cases {
        let found = touched(|old| changed(old, &(change.clone(), Told::default())), &STATEMENTS);
        assert_eq!(found, wanted, "{change:?}");
    }
    let adds = [
        ("unknown", None, vec![STATEMENTS[6], INFORMATION]),
        ("new", Some("a"), vec![STATEMENTS[0], STATEMENTS[2], INFORMATION]),
    ];
    for (name, parent, wanted) in adds {
        assert_eq!(touched(|old| changed(old, &add(name, parent)), &STATEMENTS), wanted, "{name}");
    }
}

#[test]
fn what_has_no_name_in_statements_touches_all() {
    let moved = |old: &Catalog| {
        let mut new = old.clone();
        let shop = new.databases.get_mut("shop").map(Arc::make_mut).expect("it is known");
        shop.slots = SlotMap::even(&[ShardId(1)]);
        new
    };
    assert_eq!(touched(moved, &STATEMENTS), STATEMENTS);
    let grown = |old: &Catalog| Catalog { shards: vec!["s1".into(), "s2".into(), "s3".into()], ..old.clone() };
    assert_eq!(touched(grown, &STATEMENTS), STATEMENTS);
    let folded = |old: &Catalog| Catalog { fold_case: true, ..old.clone() };
    assert_eq!(touched(folded, &STATEMENTS), STATEMENTS);
}

#[test]
fn a_routine_is_touched_when_a_definition_of_it_begins_and_a_table_is_not() {
    let begun = |change: Change| {
        move |old: &Catalog| {
            let mut new = old.clone();
            new.begin_definition(Definition {
                id: 0,
                statement: Sent::default(),
                kind: DefinitionKind::Again,
                objects: Vec::new(),
                shards: Vec::new(),
                changes: vec![change],
                undo: Undo::Impossible,
            });
            new
        }
    };
    let f = Change::RereadRoutine(Object::within("shop", "F"), RoutineKind::Function);
    assert_eq!(touched(begun(f), &STATEMENTS), [STATEMENTS[3], INFORMATION]);
    assert!(touched(begun(Change::DropTable(Object::within("shop", "a"))), &STATEMENTS).is_empty());
}
