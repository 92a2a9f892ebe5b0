//! What statements about accounts mean, and where passwords stand in them.

use crate::ast::*;
use crate::{Bump, Dialect, LexMode, parse};

const MYSQL: LexMode = mode(Dialect::MySql);
const MARIADB: LexMode = mode(Dialect::MariaDb);

const fn mode(dialect: Dialect) -> LexMode {
    LexMode {
        ansi_quotes: false,
        no_backslash_escapes: false,
        pipes_as_concat: false,
        high_not_precedence: false,
        ignore_space: false,
        lead_bytes: crate::LeadBytes::None,
        dialect,
        version: 0,
    }
}

/// Looks at the only statement of a text.
fn with<T>(sql: &str, mode: LexMode, look: impl FnOnce(StatementKind<'_>, &dyn Fn(Span) -> String) -> T) -> T {
    let arena = Bump::new();
    let parsed = parse(&arena, sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let [statement] = parsed.statements else { panic!("{sql}: {} statements", parsed.statements.len()) };
    assert_eq!(statement.span.range(), 0..sql.len(), "{sql}");
    look(statement.kind, &|span| sql[span.range()].to_owned())
}

fn account(account: &Account<'_>) -> String {
    let text = |name: Ident<'_>| String::from_utf8_lossy(name.name).into_owned();
    match account.kind {
        AccountKind::Named { user, host: None } => text(user),
        AccountKind::Named { user, host: Some(host) } => format!("{}@{}", text(user), text(host)),
        other => format!("{other:?}"),
    }
}

fn accounts(list: &[Account<'_>]) -> String {
    list.iter().map(account).collect::<Vec<_>>().join(" ")
}

#[test]
fn accounts_have_a_user_and_a_host() {
    for (sql, mode, expected) in [
        ("DROP USER u", MYSQL, "u"),
        ("DROP USER u@h", MYSQL, "u@h"),
        ("DROP USER 'u'@'%.x'", MYSQL, "u@%.x"),
        ("DROP USER `u`@`h`, \"v\"@\"w\"", MYSQL, "u@h v@w"),
        ("DROP USER u@127.0.0.1", MARIADB, "u@127.0.0.1"),
        ("DROP USER ''@h", MYSQL, "@h"),
        ("DROP USER u@", MYSQL, "u@"),
        ("DROP USER u@select", MYSQL, "u@select"),
        ("DROP USER 'it''s'@h", MYSQL, "it's@h"),
        ("DROP USER CURRENT_USER", MYSQL, "CurrentUser"),
        ("DROP USER current_user()", MARIADB, "CurrentUser"),
        ("DROP ROLE CURRENT_ROLE", MARIADB, "CurrentRole"),
        ("DROP ROLE CURRENT_ROLE", MYSQL, "CURRENT_ROLE"),
        ("DROP ROLE none, public", MARIADB, "None Public"),
        ("DROP USER public@h, public", MYSQL, "public@h public"),
    ] {
        with(sql, mode, |kind, _| match kind {
            StatementKind::DropAccounts(drop) => assert_eq!(accounts(drop.accounts), expected, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        });
    }
}

#[test]
fn statements_that_no_server_reads_stop_where_it_does() {
    for (sql, near) in [
        ("CREATE USER u@ h", "h"),
        ("CREATE USER 'u'@ 'h'", "'h'"),
        ("CREATE USER u@h.b-c", "-c"),
        ("CREATE USER @h", "@h"),
        ("CREATE USER select@h", "select@h"),
        ("CREATE USER u IDENTIFIED BY 0x41", "0x41"),
        ("CREATE USER u IDENTIFIED BY PASSWORD('x')", "('x')"),
        ("CREATE USER u IDENTIFIED BY 'x' REPLACE 'y'", "REPLACE 'y'"),
        ("CREATE USER u IDENTIFIED BY 'x' 'y'", "'y'"),
        ("CREATE USER u COMMENT 'x' ATTRIBUTE '{}'", "ATTRIBUTE '{}'"),
        ("CREATE USER u REQUIRE SSL X509", "X509"),
        ("CREATE USER u REQUIRE SUBJECT 'a' AND", ""),
        ("CREATE USER u PASSWORD EXPIRE WITH MAX_USER_CONNECTIONS 1", "WITH MAX_USER_CONNECTIONS 1"),
        ("CREATE USER u WITH MAX_USER_CONNECTIONS 1 GRANT OPTION", "GRANT OPTION"),
        ("ALTER USER u, v DEFAULT ROLE a", "DEFAULT ROLE a"),
        ("DROP USER", ""),
        ("GRANT ALL (a) ON d.t TO u", "(a) ON d.t TO u"),
        ("GRANT ALL ON *.t TO u", "t TO u"),
        ("GRANT SELECT ON 'd' TO u", "'d' TO u"),
        ("GRANT ALL PRIVILEGES TO u", "TO u"),
        ("GRANT SELECT TO u", "TO u"),
        ("GRANT r TO u WITH GRANT OPTION", "GRANT OPTION"),
        ("GRANT CURRENT_USER TO u", "CURRENT_USER TO u"),
        ("REVOKE r FROM u IDENTIFIED BY 'x'", "IDENTIFIED BY 'x'"),
        ("REVOKE SELECT ON *.* FROM u WITH GRANT OPTION", "WITH GRANT OPTION"),
    ] {
        let arena = Bump::new();
        let error = parse(&arena, sql.as_bytes(), LexMode::default()).expect_err(sql);
        assert_eq!(&sql[error.span.start as usize..], near, "{sql}");
    }
}

/// Each way to prove who one is, in short.
fn ways(list: &[Authentication<'_>], text: &dyn Fn(Span) -> String) -> String {
    let way = |way: &Authentication<'_>| {
        let mut words = Vec::new();
        if way.action != AuthenticationAction::Set {
            words.push(format!("{:?}", way.action));
        }
        words.extend(way.factor.map(|factor| format!("factor {}", text(factor))));
        words.extend(way.plugin.map(|plugin| String::from_utf8_lossy(plugin.name).into_owned()));
        words.extend(way.secret.map(|secret| match secret {
            Secret::Password(span) => format!("password {}", text(span)),
            Secret::Hash(span) => format!("hash {}", text(span)),
            Secret::Random => "random".to_owned(),
        }));
        words.extend(way.replace.map(|replace| format!("replaces {}", text(replace))));
        words.extend(way.retain_current.then(|| "retains".to_owned()));
        words.extend(way.initial.map(|initial| format!("at first {}", ways(&[*initial], text))));
        words.join(" ")
    };
    list.iter().map(way).collect::<Vec<_>>().join(", ")
}

#[test]
fn passwords_have_spans() {
    for (sql, expected) in [
        ("u", ""),
        ("u IDENTIFIED BY 'p'", "password 'p'"),
        ("u IDENTIFIED BY PASSWORD '*AB'", "hash '*AB'"),
        ("u IDENTIFIED BY RANDOM PASSWORD", "random"),
        ("u IDENTIFIED WITH a", "a"),
        ("u IDENTIFIED WITH 'a' BY 'p'", "a password 'p'"),
        ("u IDENTIFIED WITH a AS 0x41", "a hash 0x41"),
        ("u IDENTIFIED VIA a USING PASSWORD('p') OR b AS 'h' OR c", "a password 'p', b hash 'h', c"),
        ("u IDENTIFIED BY 'p' AND IDENTIFIED WITH b AND IDENTIFIED WITH c BY 'q'", "password 'p', b, c password 'q'"),
        ("u IDENTIFIED WITH a INITIAL AUTHENTICATION IDENTIFIED BY 'p'", "a at first password 'p'"),
    ] {
        let sql = format!("CREATE USER {sql} REQUIRE NONE");
        with(&sql, LexMode::default(), |kind, text| match kind {
            StatementKind::CreateUser(create) => {
                assert_eq!(ways(create.users[0].authentication, text), expected, "{sql}")
            }
            other => panic!("{sql}: {other:?}"),
        });
    }
    for (sql, expected) in [
        ("u IDENTIFIED BY 'p' REPLACE 'q' RETAIN CURRENT PASSWORD", "password 'p' replaces 'q' retains"),
        ("USER() IDENTIFIED BY 'p' REPLACE 'q'", "password 'p' replaces 'q'"),
        ("u DISCARD OLD PASSWORD", "DiscardOldPassword"),
        (
            "u ADD 2 FACTOR IDENTIFIED BY 'p' ADD 3 FACTOR IDENTIFIED WITH b",
            "AddFactor factor 2 password 'p', AddFactor factor 3 b",
        ),
        ("u MODIFY 2 FACTOR IDENTIFIED WITH b AS 'h'", "ModifyFactor factor 2 b hash 'h'"),
        ("u DROP 2 FACTOR DROP 3 FACTOR", "DropFactor factor 2, DropFactor factor 3"),
        ("u 2 FACTOR INITIATE REGISTRATION", "InitiateRegistration factor 2"),
        ("u 2 FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS 'r'", "FinishRegistration factor 2 hash 'r'"),
        ("u 3 FACTOR UNREGISTER", "Unregister factor 3"),
    ] {
        let sql = format!("ALTER USER {sql}");
        with(&sql, MYSQL, |kind, text| match kind {
            StatementKind::AlterUser(alter) => assert_eq!(ways(alter.users[0].authentication, text), expected, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        });
    }
}

#[test]
fn options_stand_one_by_one() {
    let sql = "CREATE USER IF NOT EXISTS u, v DEFAULT ROLE r, s@h REQUIRE SUBJECT 'a' AND ISSUER 'b' \
               WITH MAX_QUERIES_PER_HOUR 3 MAX_USER_CONNECTIONS 4 PASSWORD EXPIRE INTERVAL 5 DAY PASSWORD HISTORY DEFAULT \
               PASSWORD REUSE INTERVAL 6 DAY PASSWORD REQUIRE CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 7 \
               PASSWORD_LOCK_TIME UNBOUNDED ACCOUNT UNLOCK COMMENT 'c'";
    with(sql, MYSQL, |kind, text| {
        let StatementKind::CreateUser(create) = kind else { panic!("{kind:?}") };
        assert!(create.if_not_exists && !create.or_replace);
        assert_eq!(create.users.len(), 2);
        assert_eq!(accounts(create.default_roles), "r s@h");
        let spans: Vec<String> = create.options.iter().map(|option| text(option.span)).collect();
        assert_eq!(
            spans,
            [
                "REQUIRE SUBJECT 'a' AND ISSUER 'b'",
                "WITH MAX_QUERIES_PER_HOUR 3",
                "MAX_USER_CONNECTIONS 4",
                "PASSWORD EXPIRE INTERVAL 5 DAY",
                "PASSWORD HISTORY DEFAULT",
                "PASSWORD REUSE INTERVAL 6 DAY",
                "PASSWORD REQUIRE CURRENT OPTIONAL",
                "FAILED_LOGIN_ATTEMPTS 7",
                "PASSWORD_LOCK_TIME UNBOUNDED",
                "ACCOUNT UNLOCK",
                "COMMENT 'c'",
            ]
        );
        assert!(matches!(create.options[2].kind, AccountOptionKind::Limit(word, number)
            if word.is("max_user_connections") && text(number) == "4"));
        assert!(matches!(create.options[8].kind, AccountOptionKind::PasswordLockTime(None)));
        assert!(matches!(create.options[9].kind, AccountOptionKind::AccountLock(false)));
    });
}

/// What is granted, in short.
fn granted(what: Granted<'_>, text: &dyn Fn(Span) -> String) -> String {
    match what {
        Granted::Privileges(privileges, target) => {
            let privileges: Vec<String> = privileges
                .iter()
                .map(|privilege| format!("{}/{}", text(privilege.name), privilege.columns.len()))
                .collect();
            let level = match target.level {
                GrantLevel::Global => "all".to_owned(),
                GrantLevel::DefaultDatabase => "default".to_owned(),
                GrantLevel::Database(name) => format!("database {}", text(name.span)),
                GrantLevel::Object(name) => format!("object {}", text(name.span)),
            };
            format!("{} on {:?} {level}", privileges.join(" "), target.object)
        }
        Granted::Roles(roles) => format!("roles {}", accounts(roles)),
        Granted::Proxy(of) => format!("proxy {}", account(&of)),
        Granted::Everything => "everything".to_owned(),
    }
}

#[test]
fn privileges_and_roles_are_told_apart_by_what_follows() {
    for (sql, mode, expected) in [
        ("SELECT, INSERT (a, b) ON d.t", MYSQL, "SELECT/0 INSERT/2 on None object d.t"),
        ("ALL PRIVILEGES ON *.*", MYSQL, "ALL PRIVILEGES/0 on None all"),
        ("ALL ON *", MYSQL, "ALL/0 on None default"),
        (
            "CREATE TEMPORARY TABLES, LOCK TABLES ON `d_%`.*",
            MYSQL,
            "CREATE TEMPORARY TABLES/0 LOCK TABLES/0 on None database `d_%`",
        ),
        ("EXECUTE ON PROCEDURE d.p", MYSQL, "EXECUTE/0 on Some(Procedure) object d.p"),
        ("SELECT ON TABLE t", MYSQL, "SELECT/0 on Some(Table) object t"),
        ("SELECT ON package", MYSQL, "SELECT/0 on None object package"),
        ("BINLOG_ADMIN, GRANT OPTION ON *.*", MYSQL, "BINLOG_ADMIN/0 GRANT OPTION/0 on None all"),
        (
            "BINLOG ADMIN, REPLICATION SLAVE ADMIN ON *.*",
            MARIADB,
            "BINLOG ADMIN/0 REPLICATION SLAVE ADMIN/0 on None all",
        ),
        ("EVENT, SUPER ON *.*", MYSQL, "EVENT/0 SUPER/0 on None all"),
        ("event", MARIADB, "roles event"),
        ("'r'@'h', s", MYSQL, "roles r@h s"),
        ("CURRENT_ROLE", MARIADB, "roles CurrentRole"),
        ("PROXY ON ''@h", MYSQL, "proxy @h"),
        ("proxy", MARIADB, "roles proxy"),
    ] {
        let grant = format!("GRANT {sql} TO u@h, CURRENT_USER");
        with(&grant, mode, |kind, text| match kind {
            StatementKind::Grant(grant) => {
                assert_eq!(granted(grant.what, text), expected, "{sql}");
                assert_eq!(grant.to.len(), 2, "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        });
        let revoke = format!("REVOKE {sql} FROM u@h, v");
        with(&revoke, mode, |kind, text| match kind {
            StatementKind::Revoke(revoke) => {
                assert_eq!(granted(revoke.what, text), expected, "{sql}");
                assert_eq!(accounts(revoke.from), "u@h v", "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        });
    }
}

#[test]
fn grant_and_revoke_have_their_ends() {
    with("GRANT r TO u WITH ADMIN OPTION", MYSQL, |kind, _| {
        assert!(matches!(kind, StatementKind::Grant(Grant { admin_option: true, .. })), "{kind:?}");
    });
    with("GRANT SELECT ON *.* TO u WITH GRANT OPTION AS v WITH ROLE ALL EXCEPT r", MYSQL, |kind, _| {
        let StatementKind::Grant(grant) = kind else { panic!("{kind:?}") };
        assert!(matches!(grant.options, [AccountOption { kind: AccountOptionKind::GrantOption, .. }]));
        assert!(matches!(grant.grantor, Some(Grantor { roles: Some(ActiveRoles::AllExcept([_])), .. })));
    });
    with(
        "GRANT SELECT ON *.* TO u IDENTIFIED BY 'p' REQUIRE X509 WITH GRANT OPTION MAX_USER_CONNECTIONS -1",
        MARIADB,
        |kind, text| {
            let StatementKind::Grant(grant) = kind else { panic!("{kind:?}") };
            assert_eq!(ways(grant.to[0].authentication, text), "password 'p'");
            let spans: Vec<String> = grant.options.iter().map(|option| text(option.span)).collect();
            assert_eq!(spans, ["REQUIRE X509", "WITH GRANT OPTION", "MAX_USER_CONNECTIONS -1"]);
        },
    );
    with("REVOKE IF EXISTS ALL, GRANT OPTION FROM u IGNORE UNKNOWN USER", MYSQL, |kind, _| {
        let StatementKind::Revoke(revoke) = kind else { panic!("{kind:?}") };
        assert!(revoke.if_exists && revoke.ignore_unknown_user && revoke.what == Granted::Everything);
    });
    with("REVOKE ADMIN OPTION FOR r FROM u", MARIADB, |kind, _| {
        assert!(matches!(kind, StatementKind::Revoke(Revoke { admin_option: true, .. })), "{kind:?}");
    });
}

#[test]
fn users_are_altered_and_renamed_and_roles_made() {
    with("ALTER USER IF EXISTS u DEFAULT ROLE a, b@c", MYSQL, |kind, _| {
        let StatementKind::AlterUser(alter) = kind else { panic!("{kind:?}") };
        assert!(matches!(alter.default_roles, Some(DefaultRoles::Roles(roles)) if accounts(roles) == "a b@c"));
    });
    with("RENAME USER a TO b, c@d TO 'e'", MYSQL, |kind, _| {
        let StatementKind::RenameUser(rename) = kind else { panic!("{kind:?}") };
        let pairs: Vec<String> = rename.pairs.iter().map(|(from, to)| accounts(&[*from, *to])).collect();
        assert_eq!(pairs, ["a b", "c@d e"]);
    });
    with("CREATE OR REPLACE ROLE r, s WITH ADMIN CURRENT_USER()", MARIADB, |kind, _| {
        let StatementKind::CreateRole(create) = kind else { panic!("{kind:?}") };
        assert!(create.or_replace);
        assert_eq!(accounts(create.roles), "r s");
        assert!(matches!(create.admin, Some(Account { kind: AccountKind::CurrentUser, .. })));
    });
}
