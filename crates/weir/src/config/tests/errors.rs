//! The messages about wrong configurations, with the line.

use super::*;

/// A head whose first line is line 1, before the smallest configuration; and all messages.
type Case = (&'static str, &'static [&'static str]);

fn check_cases(cases: &[Case], rest: &str) {
    for (head, expected) in cases {
        assert_eq!(complaints(&format!("{head}{rest}")), *expected, "{head}");
    }
}

#[test]
fn unknown_keys_and_sections_come_with_a_suggestion() {
    check_cases(
        &[
            (
                "[pool]\nmax_conections = 5",
                &["unknown key `max_conections` in [pool], line 2: did you mean `max_connections`?"],
            ),
            (
                "\n[clients]\nMax-Connections = 5",
                &["unknown key `Max-Connections` in [clients], line 3: did you mean `max_connections`?"],
            ),
            ("[pool]\nbacklog = 5", &["unknown key `backlog` in [pool], line 2: it belongs in [listen]"]),
            ("[shutdown]\nxyz = 5", &["unknown key `xyz` in [shutdown], line 2: its keys are grace"]),
            ("[pools]", &["unknown section [pools], line 1: did you mean `pool`?"]),
            ("[xyz]\na = 1", &["unknown section [xyz], line 1: no such section"]),
            ("backlog = 5", &["unknown key `backlog` outside a section, line 1: it belongs in [listen]"]),
            ("xyz = 5", &["unknown key `xyz` outside a section, line 1: keys belong in a section, such as [listen]"]),
            (
                "[[users]]\nname = \"a\"\npassword = \"b\"\nadmim = true",
                &["unknown key `admim` in [[users]], line 4: did you mean `admin`?"],
            ),
        ],
        MINIMAL,
    );
}

#[test]
fn values_of_a_wrong_type_or_form_are_named_with_what_is_expected() {
    check_cases(
        &[
            (
                "[pool]\nidle_timeout = 5",
                &["`idle_timeout` in [pool], line 2: expected a duration as a string, such as \"10s\", found a number"],
            ),
            (
                "[pool]\nidle_timeout = \"5 fortnights\"",
                &[
                    "`idle_timeout` in [pool], line 2: `5 fortnights` is not a duration: write a whole number and a unit (ms, s, m, h, d), such as \"500ms\" or \"10s\"",
                ],
            ),
            (
                "[clients]\nmax_allowed_packet = \"64MB\"",
                &[
                    "`max_allowed_packet` in [clients], line 2: `64MB` is not a size: write a whole number and a unit (KiB, MiB, GiB), such as \"64MiB\"",
                ],
            ),
            (
                "[pool]\nmax_connections = 0",
                &["`max_connections` in [pool], line 2: expected a whole number from 1 to 100000"],
            ),
            (
                "[pool]\nmax_queue = 99999999999999999999",
                &["`max_queue` in [pool], line 2: expected a whole number from 0 to 1000000"],
            ),
            ("[accounts]\nlearn = \"yes\"", &["`learn` in [accounts], line 2: expected true or false, found a string"]),
            ("[tls]\nmode = \"file\"", &["`mode` in [tls], line 2: `file` is unknown: did you mean `files`?"]),
            (
                "[log]\nlevel = \"loud\"",
                &["`level` in [log], line 2: `loud` is unknown: it is one of error, warn, info, debug, trace"],
            ),
            (
                "[clients]\ncompression = [\"zstd\", \"lz4\"]",
                &["`compression` in [clients], line 2: `lz4` is unknown: it is one of zlib, zstd, uncompressed"],
            ),
            (
                "[listen]\naddress = \"127.0.0.1:1\"",
                &["`address` in [listen], line 2: expected an array, in [ and ], found a string"],
            ),
            ("pool = 5", &["`pool`, line 1: this is a section: write [pool] once"]),
            ("[users]\nname = \"a\"", &["`users`, line 1: this is a section: write [[users]] once per entry"]),
            ("[[pool]]\nmax_queue = 1", &["`pool`, line 1: this is a section: write [pool] once"]),
            ("\n[[users]]\npassword = \"a\"", &["`name` in [[users]], line 2: is missing"]),
        ],
        MINIMAL,
    );
}

#[test]
fn syntax_errors_have_their_line() {
    let said = complaints("[pool]\nmax_queue = 1\nmax_queue = 2\n[listen\n");
    assert!(said.len() >= 2, "{said:?}");
    assert!(said[0].starts_with("line 3: duplicate key"), "{said:?}");
    assert!(said.last().expect("two").starts_with("line 4: "), "{said:?}");
}

#[test]
fn sections_that_contradict_themselves_are_refused() {
    check_cases(
        &[
            ("[listen]\naddress = []", &["[listen], line 1: needs an `address` or a `socket`"]),
            (
                "[listen]\naddress = [\"localhost:1\"]",
                &[
                    "`address` in [listen], line 2: `localhost:1` is not an IP address and port, such as \"127.0.0.1:4406\" or \"[::]:4406\"",
                ],
            ),
            (
                "[listen]\naddress = [\"[::]:1\", \"[::]:1\"]",
                &["`address` in [listen], line 2: `[::]:1` is duplicated"],
            ),
            (
                "[listen]\nsocket = \"weir.sock\"\nsocket_mode = \"rw\"",
                &[
                    "`socket` in [listen], line 2: `weir.sock` is not an absolute path",
                    "`socket_mode` in [listen], line 3: `rw` is not a file mode: write it in octal, such as \"0660\"",
                ],
            ),
            (
                "[listen]\nproxy_protocol_networks = [\"10.1.0.0/8\", \"home\"]",
                &[
                    "`proxy_protocol_networks` in [listen], line 2: `10.1.0.0/8` has bits set behind its prefix: did you mean `10.0.0.0/8`?",
                    "`proxy_protocol_networks` in [listen], line 2: `home` is not a network: write an IP address and a prefix length, such as \"10.0.0.0/8\"",
                ],
            ),
            (
                "[clients]\nmax_connections = 5\nmax_user_connections = 6",
                &["`max_user_connections` in [clients], line 3: 6 is more than `max_connections`, 5"],
            ),
            (
                "[clients]\nmax_allowed_packet = \"2GiB\"",
                &["`max_allowed_packet` in [clients], line 2: `2GiB` is not between \"1KiB\" and \"1GiB\""],
            ),
            (
                "[clients]\ncompression = []\nwait_timeout = \"0s\"",
                &[
                    "`compression` in [clients], line 2: is empty: [\"uncompressed\"] turns compression off",
                    "`wait_timeout` in [clients], line 3: must be more than zero",
                ],
            ),
            (
                "[accounts]\nlearn = false",
                &["`learn` in [accounts], line 2: nobody could log in: list [[users]], or set learn = true"],
            ),
            (
                "[pool]\nmax_connections = 5\nmax_user_connections = 6",
                &["`max_user_connections` in [pool], line 3: 6 is more than `max_connections`, 5"],
            ),
            (
                "[metrics]\naddress = \"127.0.0.1:4406\"",
                &["`address` in [metrics], line 2: `127.0.0.1:4406` is an `address` in [listen] too"],
            ),
            (
                "[log]\nfile = \"/nonexistent/weir.log\"",
                &["`file` in [log], line 2: there is no directory /nonexistent"],
            ),
        ],
        MINIMAL,
    );
}

#[test]
fn users_must_differ_and_keep_within_the_limits() {
    check_cases(
        &[
            (
                "[[users]]\nname = \"a\"\npassword = \"b\"\n[[users]]\nname = \"a\"\npassword = \"b\"",
                &["`name` in [[users]], line 5: `a` is duplicated"],
            ),
            (
                "[[users]]\nname = \"\"\npassword = \"b\\u0000\"\nmax_connections = 10001",
                &[
                    "`name` in [[users]], line 2: a user's name has 1 to 128 characters",
                    "`password` in [[users]], line 3: a password can't contain a NUL character",
                    "`max_connections` in [[users]], line 4: 10001 is more than `max_connections` in [clients], 10000",
                ],
            ),
        ],
        MINIMAL,
    );
}

#[test]
fn servers_must_differ_and_one_of_them_is_the_writer() {
    let monitor = "\n[monitor]\npassword = \"x\"\n";
    check_cases(
        &[
            ("", &["[[servers]]: exactly one needs role = \"writer\", found 0"]),
            (
                "[[servers]]\nname = \"a\"\naddress = \"h1\"\nrole = \"writer\"
[[servers]]\nname = \"a\"\naddress = \"h1:3306\"\nrole = \"writer\"",
                &[
                    "`name` in [[servers]], line 6: `a` is duplicated",
                    "`address` in [[servers]], line 7: `h1:3306` is duplicated",
                    "[[servers]]: exactly one needs role = \"writer\", found 2",
                ],
            ),
            (
                "[[servers]]\nname = \"a b\"\naddress = \"h1:0\"\nrole = \"writer\"",
                &[
                    "`name` in [[servers]], line 2: a server's name has 1 to 64 of the characters a-z, A-Z, 0-9, `.`, `_`, `-`",
                    "`address` in [[servers]], line 3: `0` is not a port: write a number from 1 to 65535",
                ],
            ),
            (
                "[[servers]]\nname = \"a\"\naddress = \"localhost:4406\"\nrole = \"writer\"",
                &["`address` in [[servers]], line 3: `localhost:4406` is Weir's own `address` in [listen]"],
            ),
            ("[[servers]]\nname = \"a\"\nrole = \"writer\"", &["`address` in [[servers]], line 1: is missing"]),
        ],
        monitor,
    );
}

#[test]
fn the_monitor_must_not_give_up_on_a_server_before_its_probe() {
    let text = format!("{MINIMAL}timeout = \"5s\"\nhang_timeout = \"4s\"\ninterval = \"0ms\"");
    assert_eq!(
        complaints(&text),
        [
            "`hang_timeout` in [monitor], line 10: 4s is less than `timeout`, 5s",
            "`interval` in [monitor], line 11: must be more than zero",
        ]
    );
}

#[test]
fn all_that_is_wrong_is_reported_in_the_order_of_the_lines() {
    let said = complaints(
        "[pool]
max_user_connections = 101
[clients]
wait_timeot = \"1s\"
[log]
level = 3
[listen]
socket = \"here\"
",
    );
    assert_eq!(
        said,
        [
            "`max_user_connections` in [pool], line 2: 101 is more than `max_connections`, 100",
            "unknown key `wait_timeot` in [clients], line 4: did you mean `wait_timeout`?",
            "`level` in [log], line 6: expected a string, found a number",
            "`socket` in [listen], line 8: `here` is not an absolute path",
            "[[servers]]: exactly one needs role = \"writer\", found 0",
            "[monitor]: needs exactly one of `password`, `password_file`, `password_env`",
        ]
    );
}

#[test]
fn a_section_that_is_not_understood_whole_is_not_judged_by_its_rest() {
    let text = MINIMAL.replace("\"writer\"", "\"writter\"");
    assert_eq!(complaints(&text), ["`role` in [[servers]], line 5: `writter` is unknown: did you mean `writer`?"]);
}

#[test]
fn a_rest_interface_needs_a_token_and_an_address_of_its_own() {
    let with = |keys: &str| complaints(&format!("{MINIMAL}\n[metrics]\naddress = \"127.0.0.1:4407\"\n[api]\n{keys}"));
    let token = "token = \"a-token-of-tests\"";
    assert!(with("").is_empty() && with("token = \"short\"").is_empty());
    assert!(with(&format!("address = \"127.0.0.1:4408\"\n{token}")).is_empty());
    for (keys, said) in [
        ("address = \"127.0.0.1:4408\"", "needs exactly one of `token`, `token_file`, `token_env`"),
        ("address = \"127.0.0.1:4408\"\ntoken = \"short\"", "a token has 16 to 1024 visible ASCII characters"),
        (
            "address = \"127.0.0.1:4408\"\ntoken = \"sixteen and a space\"",
            "a token has 16 to 1024 visible ASCII characters",
        ),
        ("address = \"127.0.0.1:4408\"\ntoken_file = \"/nonexistent\"", "`token_file` in [api]"),
        (&format!("address = \"127.0.0.1:4406\"\n{token}"), "is an `address` in [listen] too"),
        (&format!("address = \"127.0.0.1:4407\"\n{token}"), "is the `address` in [metrics] too"),
        (&format!("address = \"nowhere\"\n{token}"), "is not an IP address and port"),
    ] {
        let complaints = with(keys);
        assert!(complaints.len() == 1 && complaints[0].contains(said), "{keys}: {complaints:?}");
        assert!(!complaints[0].contains("a-token-of-tests"), "{complaints:?}");
    }
}
