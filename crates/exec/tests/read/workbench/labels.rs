//! Columns of a result are told as those of the tables that were gathered, wherever the server takes them from.

use std::rc::Rc;

use weir_exec::Request;
use weir_plan::{Fragment, Passed};
use weir_wire::stmt::Execute;

use super::{Client, Column, fragment, packets, workbench};
use crate::bed::Bed;

const PARENTS: &[Column] = &[
    ("id", "int NOT NULL", "id", Passed::Number),
    ("u", "int NULL", "u", Passed::Number),
    ("m", "int NULL", "m", Passed::Number),
    ("d", "int NOT NULL", "d", Passed::Number),
    ("t", "varchar(20) COLLATE utf8mb4_bin NOT NULL", "CAST(t AS BINARY)", Passed::Bytes),
    ("s", "timestamp NOT NULL DEFAULT 0", "UNIX_TIMESTAMP(s)", Passed::Epoch),
    ("js", "longtext COLLATE utf8mb4_bin NULL", "CAST(js AS BINARY)", Passed::Bytes),
];
const CHILDREN: &[Column] =
    &[("parent", "int NOT NULL", "parent", Passed::Number), ("c", "bigint unsigned NULL", "c", Passed::Number)];

/// Flags that tell of keys, and of a column that the time is put into.
const KEYS: u16 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400 | 0x2000 | 0x4000;

pub(super) async fn all(bed: &Bed) {
    bed.everywhere(
        "CREATE TABLE d.parents (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, m INT, d INT NOT NULL DEFAULT 7, \
         t VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, s TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, \
         js LONGTEXT COLLATE utf8mb4_bin, KEY (m, t))",
    );
    bed.everywhere("CREATE TABLE d.children (parent INT NOT NULL, c BIGINT UNSIGNED, KEY (c))");
    let time = "'2020-01-02 03:04:05'";
    let parents: Vec<String> = (1..9).map(|id| format!("{id}, {id}, {}, 2, 't{id}', {time}, NULL", id % 3)).collect();
    bed.insert("d.parents", &parents);
    bed.insert("d.children", &(0..20).map(|nth| format!("{}, {nth}", nth % 10)).collect::<Vec<_>>());
    let client = Client::new(bed);
    let parents = |name: &str| Fragment {
        primary_key: vec![0],
        unique_keys: vec![vec![1]],
        keys: vec![vec![2, 4]],
        ..fragment(name, "parents", PARENTS)
    };
    let children = || Fragment { keys: vec![vec![1]], ..fragment("weir_c", "children", CHILDREN) };
    // Keys are told where the server has no table of its own in between. Where it has one is its choice: it is not always the same.
    for (text, but) in [
        ("SELECT a.*, b.* FROM {p} AS a JOIN {c} AS b ON b.parent = a.id ORDER BY a.id, b.c", KEYS),
        (
            "SELECT a.id, a.u, b.parent, b.c FROM {p} AS a LEFT JOIN {c} AS b ON b.parent = a.id + 6 ORDER BY a.id, b.c",
            KEYS,
        ),
        ("SELECT b.parent, b.c, a.t, a.d, a.s FROM {c} AS b LEFT JOIN {p} AS a ON b.parent = a.id ORDER BY b.c", KEYS),
        ("SELECT * FROM {p} AS parents ORDER BY id", 0),
        (
            "SELECT id AS other, m AS `a b`, id + 1 AS more FROM {p} AS p WHERE id IN (SELECT parent FROM {c} AS x) ORDER BY id",
            KEYS,
        ),
        (
            "SELECT id AS other, m AS `a b`, s FROM {p} AS p WHERE id = (SELECT MAX(parent) FROM {c} AS x WHERE c = 3)",
            0,
        ),
        ("SELECT m, COUNT(*), MAX(t), SUM(d) FROM {p} AS p GROUP BY m ORDER BY m", KEYS),
        (
            "SELECT a.id, a.t, a.s, COUNT(*) FROM {p} AS a JOIN {c} AS b ON b.parent = a.id GROUP BY a.id ORDER BY 1",
            KEYS,
        ),
        ("SELECT DISTINCT d, m FROM {p} AS p ORDER BY m", KEYS),
        ("SELECT t, d FROM {p} AS p UNION ALL SELECT c, parent FROM {c} AS c ORDER BY t", 0),
        ("SELECT * FROM (SELECT m, t FROM {p} AS p ORDER BY t LIMIT 3) AS q ORDER BY t", 0),
        ("SELECT id, ROW_NUMBER() OVER (ORDER BY m, id) AS n FROM {p} AS p ORDER BY n", KEYS),
    ] {
        let here = text.replace("{p}", "d.parents").replace("{c}", "d.children");
        let there = text.replace("{p}", "d.weir_p").replace("{c}", "d.weir_c");
        client.alike(&here, &workbench(vec![parents("weir_p"), children()], &there), but).await;
    }
    let text = "SELECT a.t, b.t, b.u FROM {1} AS a JOIN {2} AS b ON b.id = a.id + 1 ORDER BY a.id";
    let here = text.replace("{1}", "d.parents").replace("{2}", "d.parents");
    let there = text.replace("{1}", "d.weir_1").replace("{2}", "d.weir_2");
    client.alike(&here, &workbench(vec![parents("weir_1"), parents("weir_2")], &there), KEYS).await;
    parameters(&client, parents("weir_1")).await;
}

/// A fragment may use some of the client's parameters, and the query others.
async fn parameters(client: &Client<'_>, mut parents: Fragment) {
    parents.read.text.extend_from_slice(b" WHERE id > ?");
    parents.read.parameters = vec![1];
    let mut plan = workbench(vec![parents], "SELECT id, u + ? FROM d.weir_1 AS p WHERE id > ? AND t < ? ORDER BY id");
    plan.query.parameters = vec![0, 1, 2];
    let payload =
        [&crate::EXECUTION[..], &[0, 1, 8, 0, 8, 0, 0xfd, 0], &5_u64.to_le_bytes(), &3_u64.to_le_bytes(), b"\x02t7"]
            .concat();
    let execute = Execute::parse(&payload, 3, client.bed.capabilities).expect("it is well formed");
    let parsing = Rc::new(client.bed.part(0).await.lease.profile().parsing());
    let types: Rc<[u8]> = [8, 0, 8, 0, 0xfd, 0][..].into();
    let request = Request::Execute { parsing: &parsing, execute: &execute, types: Some(&types), session: 1 };
    let (outcome, got) = client.run(&plan, &request).await;
    assert_eq!(outcome.error, None);
    let expected =
        client.expected("SELECT id, u + ? FROM d.parents AS p WHERE id > ? AND t < ? ORDER BY id", &request).await;
    // The expression's length depends on what the server knows of its parameter.
    assert_eq!(packets(&got)[3..], packets(&expected)[3..]);
    assert_eq!(outcome.sent, 3);
}
