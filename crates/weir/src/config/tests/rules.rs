//! The messages about impossible rules, and about logs.

use super::{MINIMAL, complaints};

#[test]
fn rules_that_can_not_be_are_refused() {
    let cases = [
        ("action = \"block\"", "applies to all statements: add a condition, such as `pattern`"),
        ("action = \"block\"\ndigest = \"12\"", "`12` is not a digest"),
        ("action = \"block\"\npattern = \"(\"", "is not a regular expression: unclosed group"),
        ("action = \"block\"\nclients = [\"10.0.0.1/8\"]", "did you mean `10.0.0.0/8`?"),
        ("action = \"block\"\nusers = [\"u\"]\nrate = 5", "is used with action = \"limit\" only"),
        ("action = \"limit\"", "needs either `rate` or `concurrency`"),
        ("action = \"limit\"\nrate = 1\nconcurrency = 1", "needs either `rate` or `concurrency`"),
        ("action = \"route\"", "needs `to`"),
        ("action = \"timeout\"\ntimeout = \"0s\"", "must be more than zero"),
        ("action = \"rewrite\"\nusers = [\"u\"]", "needs `replace`"),
        ("action = \"rewrite\"\nusers = [\"u\"]\nreplace = \"SELECT $0\"", "numbers start at $1"),
        ("action = \"rewrite\"\nusers = [\"u\"]\nreplace = \"SELECT 1; SELECT 2\"", "not one statement"),
        (
            "action = \"rewrite\"\npattern = '^SELECT a FROM t WHERE b = \\?$'\nreplace = \"SELECT $2\"",
            "it has 1 literals, but the new text uses $2",
        ),
        ("action = \"blck\"\nusers = [\"u\"]", "did you mean `block`?"),
    ];
    for (keys, expected) in cases {
        let said = complaints(&format!("{MINIMAL}\n[[rules]]\nname = \"r\"\n{keys}\n")).join("\n");
        assert!(said.contains(expected), "{keys}: {said}");
    }
    let twice = "[[rules]]\nname = \"r\"\naction = \"timeout\"\ntimeout = \"1s\"\n".repeat(2);
    let said = complaints(&format!("{MINIMAL}\n{twice}")).join("\n");
    assert!(said.contains("`r` is duplicated"), "{said}");
}

#[test]
fn logs_that_can_not_be_are_refused() {
    let cases = [
        ("[slow_log]\nfile = \"nowhere/slow.log\"", "there is no directory"),
        ("[slow_log]\nfile = \"slow.log\"\nmax_size = \"1KiB\"", "is less than \"64KiB\""),
        ("[audit_log]\nfile = \"audit.log\"\nevents = []", "leave `file` out"),
        ("[audit_log]\nfile = \"audit.log\"\nevents = [\"conect\"]", "did you mean `connect`?"),
        ("[audit_log]\nfile = \"audit.log\"\nusers = [\"\"]", "a user's name has"),
    ];
    for (keys, expected) in cases {
        let said = complaints(&format!("{MINIMAL}\n{keys}\n")).join("\n");
        assert!(said.contains(expected), "{keys}: {said}");
    }
}
