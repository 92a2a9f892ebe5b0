//! Several groups, and which servers are in each.

use super::*;

const MONITOR: &str = "[monitor]\npassword = \"x\"\n";

fn with_monitor(text: &str) -> String {
    format!("{text}\n{MONITOR}")
}

#[test]
fn each_server_is_in_its_group_in_the_files_order() {
    let replica = "[[servers]]\nname = \"db3\"\naddress = \"h3\"\nrole = \"replica\"\ngroup = \"s1\"\n";
    let config = valid(&with_monitor(&format!("{TWO_GROUPS}{replica}")));
    let of = |number: usize| {
        let group = &config.groups[number];
        let names: Vec<_> = group.servers.iter().map(|server| server.name.as_str()).collect();
        (group.name.as_str(), names)
    };
    assert_eq!(config.groups.len(), 2);
    assert_eq!((of(0), of(1)), (("s1", vec!["db1", "db3"]), ("s2", vec!["db2"])));
}

#[test]
fn with_one_group_or_none_servers_need_not_name_it() {
    for groups in ["", "[[groups]]\nmax_lag = \"1s\"\n", "[[groups]]\nname = \"only\"\n"] {
        let config = valid(&format!("{MINIMAL}{groups}"));
        assert_eq!((config.groups.len(), config.groups[0].servers.len()), (1, 1), "{groups}");
    }
    let named = MINIMAL.replace("role", "group = \"main\"\nrole");
    assert_eq!(valid(&named).groups[0].name, "main");
}

#[test]
fn groups_that_lack_something_are_named() {
    let cases = [
        (
            TWO_GROUPS.replace("group = \"s2\"\n", ""),
            vec!["[[servers]], line 14: needs `group`: there are several [[groups]]"],
        ),
        (
            TWO_GROUPS.replace("\"s2\"", "\"south\"").replace("group = \"south", "group = \"sotuh"),
            vec!["`group` in [[servers]], line 18: there is no group `sotuh`; did you mean `south`?"],
        ),
        (
            TWO_GROUPS.replace("group = \"s2\"", "group = \"elsewhere\""),
            vec!["`group` in [[servers]], line 18: there is no group `elsewhere`; no such name in [[groups]]"],
        ),
        (
            TWO_GROUPS.replace("group = \"s2\"", "group = \"s1\""),
            vec![
                "`name` in [[groups]], line 6: no server is in group `s2`: in [[servers]], `group = \"s2\"` puts one there",
                "[[servers]]: of group `s1`, exactly one needs role = \"writer\", found 2",
            ],
        ),
        (
            TWO_GROUPS.replacen("writer", "replica", 1),
            vec!["[[servers]]: of group `s1`, exactly one needs role = \"writer\", found 0"],
        ),
        (
            TWO_GROUPS.replace("\"s2\"", "\"s1\""),
            vec![
                "`name` in [[groups]], line 6: `s1` is duplicated",
                "`name` in [[groups]], line 6: no server is in group `s1`: in [[servers]], `group = \"s1\"` puts one there",
                "[[servers]]: of group `s1`, exactly one needs role = \"writer\", found 2",
            ],
        ),
        (TWO_GROUPS.replace("db2", "db1"), vec!["`name` in [[servers]], line 15: `db1` is duplicated"]),
    ];
    for (text, expected) in cases {
        assert_eq!(complaints(&with_monitor(&text)), expected, "{text}");
    }
}

#[test]
fn the_catalog_is_beside_the_configuration_unless_it_is_said_where() {
    let (directory, path) = private_file("weir.toml", MINIMAL);
    assert_eq!(load(&path).expect("valid").sharding.directory, directory.path().join("weir-catalog"));
    let said = "[sharding]\ndirectory = \"kept\"\n";
    let (directory, path) = private_file("weir.toml", &format!("{MINIMAL}{said}"));
    assert_eq!(load(&path).expect("valid").sharding.directory, directory.path().join("kept"));
}
