//! What each form of SET means.

use crate::ast::*;
use crate::parse::testing::{MARIADB, MYSQL, account, accounts, name, stops, with};
use crate::{Dialect, LexMode};

type Text<'t> = &'t dyn Fn(Span) -> String;

fn variable(of: &SystemVariable<'_>) -> String {
    let scope = of.scope.map_or(String::new(), |scope| format!("{scope:?} "));
    let base = of.base.map_or(String::new(), |base| format!("{}.", name(base)));
    format!("{scope}{base}{}", name(of.name))
}

fn value(of: SetValue<'_>, text: Text<'_>) -> String {
    match of {
        SetValue::Expr(expr) => text(expr.span),
        SetValue::Default(span) => format!("<{}>", text(span)),
        SetValue::Word(word) => format!("<{}>", name(word)),
    }
}

fn roles(of: &SetRole<'_>) -> String {
    match of.kind {
        SetRoleKind::AllExcept(list) => format!("all but {}", accounts(list)),
        SetRoleKind::Roles(list) => accounts(list),
        other => format!("{other:?}"),
    }
}

fn item(of: &SetItem<'_>, text: Text<'_>) -> String {
    let or_default = |name_: Option<Ident<'_>>| name_.map_or("<default>".to_owned(), name);
    match of.kind {
        SetItemKind::UserVariable(ident, expr) => {
            format!("@{}={}", name(ident).trim_start_matches('@'), text(expr.span))
        }
        SetItemKind::Variable(set) => {
            let signs = if set.at_signs { "@@" } else { "" };
            format!("{signs}{}={}", variable(&set.variable), value(set.value, text))
        }
        SetItemKind::Names(names) => {
            let collation = names.collation.map_or(String::new(), |collation| format!(" {}", name(collation)));
            format!("names {}{collation}", or_default(names.charset))
        }
        SetItemKind::CharacterSet(charset) => format!("charset {}", or_default(charset)),
        SetItemKind::Transaction(set) => format!("{:?} {:?} {:?}", set.scope, set.isolation, set.read_only),
        SetItemKind::Password(set) => {
            let whose = set.account.as_ref().map_or("own".to_owned(), account);
            let password = set.password.map_or("random".to_owned(), text);
            let function = set.function.map_or(String::new(), name);
            let replace = set.replace.map_or(String::new(), |old| format!(" for {}", text(old)));
            format!("{whose} {function}{password}{replace} {}", set.retain_current)
        }
        SetItemKind::Role(role) => format!("role {}", roles(role)),
        SetItemKind::DefaultRole(set) => format!("default role {} of {}", roles(&set.roles), accounts(set.accounts)),
        SetItemKind::ResourceGroup(group, threads) => {
            let threads: Vec<_> = threads.iter().map(|thread| text(thread.span)).collect();
            format!("group {} {}", name(group), threads.join(" "))
        }
    }
}

fn items(sql: &str, mode: LexMode) -> String {
    with(sql, mode, |kind, text| match kind {
        StatementKind::Set(set) => set.items.iter().map(|one| item(one, text)).collect::<Vec<_>>().join("; "),
        other => panic!("{sql}: {other:?}"),
    })
}

#[test]
fn assignments_have_scope_name_and_value() {
    let either = LexMode::default();
    for (sql, expected) in [
        ("SET a = 1", "a=1"),
        ("SET a := b + 1, c = 'x'", "a=b + 1; c='x'"),
        ("SET GLOBAL a = 1, SESSION b = 2, LOCAL c = 3", "Global a=1; Session b=2; Session c=3"),
        ("SET GLOBAL a = 1, b = 2, @c = 3, d = 4", "Global a=1; Global b=2; @c=3; Global d=4"),
        ("SET GLOBAL a = 1, SESSION b = 2, c = 3", "Global a=1; Session b=2; Session c=3"),
        ("SET GLOBAL a = 1, @@b = 2, @@session.c = 3, d = 4", "Global a=1; @@b=2; @@Session c=3; Global d=4"),
        ("SET @@global.a = 1, b = 2", "@@Global a=1; b=2"),
        ("SET PERSIST a = 1, PERSIST_ONLY b = 2", "Persist a=1; PersistOnly b=2"),
        ("SET @@a = 1, @@session.b = 2, @@GLOBAL . c = 3", "@@a=1; @@Session b=2; @@Global c=3"),
        ("SET @@local.a = 1, @@persist.b = 2", "@@Session a=1; @@Persist b=2"),
        ("SET @@`a` = 1, `b` = 2", "@@a=1; b=2"),
        ("SET hot.key_buffer_size = 1", "hot.key_buffer_size=1"),
        ("SET GLOBAL hot.x = 1, @@hot.x = 2, @@global.hot.x = 3", "Global hot.x=1; @@hot.x=2; @@Global hot.x=3"),
        ("SET DEFAULT.x = 1, GLOBAL default.x = 2", "DEFAULT.x=1; Global default.x=2"),
        ("SET NEW.c = OLD.c + 1", "NEW.c=OLD.c + 1"),
        ("SET a = DEFAULT, b = ON, c = ALL, d = BINARY", "a=<DEFAULT>; b=<ON>; c=<ALL>; d=<BINARY>"),
        ("SET a = ROW, b = OFF, c = utf8mb4", "a=<ROW>; b=OFF; c=utf8mb4"),
        ("SET a = BINARY 'x', b = (SELECT 1)", "a=BINARY 'x'; b=(SELECT 1)"),
        ("SET @a = 1, @`b` = 2, @'c' := @a := 3", "@a=1; @b=2; @c=@a := 3"),
        ("SET role = 1, transaction = 2, statement = 3", "role=1; transaction=2; statement=3"),
        ("SET autocommit=0", "autocommit=0"),
    ] {
        assert_eq!(items(sql, either), expected, "{sql}");
    }
}

#[test]
fn a_word_means_what_its_dialect_makes_of_it() {
    for (sql, mode, expected) in [
        ("SET a = SYSTEM", MYSQL, "a=<SYSTEM>"),
        ("SET global = 1, session = 2", MARIADB, "global=1; session=2"),
        ("SET @@persist.x = 1", MARIADB, "@@persist.x=1"),
        ("SET @@persist.x = 1", MYSQL, "@@Persist x=1"),
        ("SET persist.x = 1", MYSQL, "persist.x=1"),
    ] {
        assert_eq!(items(sql, mode), expected, "{sql}");
    }
}

#[test]
fn character_sets_passwords_and_roles_are_no_variables() {
    for (sql, mode, expected) in [
        ("SET NAMES utf8mb4", MYSQL, "names utf8mb4"),
        ("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin', @a = 1", MYSQL, "names utf8mb4 utf8mb4_bin; @a=1"),
        ("SET NAMES DEFAULT", MYSQL, "names <default>"),
        ("SET NAMES binary, NAMES utf8 COLLATE DEFAULT", MARIADB, "names binary; names utf8"),
        ("SET CHARACTER SET 'utf8mb4'", MYSQL, "charset utf8mb4"),
        ("SET CHAR SET DEFAULT, CHARSET big5", MARIADB, "charset <default>; charset big5"),
        ("SET PASSWORD = 'x'", MYSQL, "own 'x' false"),
        ("SET PASSWORD FOR u@h = PASSWORD('x'), @a = 1", MARIADB, "u@h PASSWORD'x' false; @a=1"),
        ("SET PASSWORD FOR CURRENT_USER() := 'x'", MARIADB, "CurrentUser 'x' false"),
        ("SET PASSWORD TO RANDOM REPLACE 'o' RETAIN CURRENT PASSWORD", MYSQL, "own random for 'o' true"),
        ("SET ROLE NONE", MYSQL, "role None"),
        ("SET ROLE DEFAULT", MYSQL, "role Default"),
        ("SET ROLE ALL EXCEPT r, s@h", MYSQL, "role all but r s@h"),
        ("SET ROLE r, s", MYSQL, "role r s"),
        ("SET ROLE r, @a = 1, s = 2", MARIADB, "role r; @a=1; s=2"),
        ("SET ROLE r, GLOBAL s = 2", MARIADB, "role r; Global s=2"),
        ("SET DEFAULT ROLE r, s TO u, v@h", MYSQL, "default role r s of u v@h"),
        ("SET DEFAULT ROLE NONE FOR u", MARIADB, "default role None of u"),
        ("SET DEFAULT ROLE r", MARIADB, "default role r of "),
        ("SET RESOURCE GROUP g", MYSQL, "group g "),
        ("SET RESOURCE GROUP g FOR 1, 2 3", MYSQL, "group g 1 2 3"),
    ] {
        assert_eq!(items(sql, mode), expected, "{sql}");
    }
}

#[test]
fn transactions_have_scope_isolation_and_access_mode() {
    for (sql, expected) in [
        ("SET TRANSACTION READ ONLY", "None None Some(true)"),
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "Some(Session) Some(ReadCommitted) None"),
        (
            "SET GLOBAL TRANSACTION READ WRITE, ISOLATION LEVEL REPEATABLE READ",
            "Some(Global) Some(RepeatableRead) Some(false)",
        ),
        ("SET LOCAL TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Some(Session) Some(Serializable) None"),
        ("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "None Some(ReadUncommitted) None"),
    ] {
        assert_eq!(items(sql, MYSQL), expected, "{sql}");
        assert_eq!(items(sql, MARIADB), expected, "{sql}");
    }
}

#[test]
fn a_statement_may_follow_the_variables_that_it_runs_with() {
    let sql = "SET STATEMENT a = 1, b = ON FOR SET @x = 2";
    with(sql, MARIADB, |kind, text| {
        let StatementKind::SetStatement(set) = kind else { panic!("{kind:?}") };
        let variables: Vec<_> = set.items.iter().map(|one| item(one, text)).collect();
        assert_eq!(variables, ["a=1", "b=<ON>"]);
        assert_eq!(text(set.statement.span), "SET @x = 2");
        assert!(matches!(set.statement.kind, StatementKind::Set(_)));
    });
}

#[test]
fn what_no_server_reads_is_refused() {
    for (sql, near) in [
        ("SET", ""),
        ("SET @a = 1,", ""),
        ("SET @a = DEFAULT", "DEFAULT"),
        ("SET @ a = 1", "@ a = 1"),
        ("SET @@ a = 1", "a = 1"),
        ("SET GLOBAL @@a = 1", "@@a = 1"),
        ("SET SESSION @a = 1", "@a = 1"),
        ("SET 'a' = 1", "'a' = 1"),
        ("SET a.b.c = 1", ".c = 1"),
        ("SET names = 1", "= 1"),
        ("SET PASSWORD = 1", "1"),
        ("SET TRANSACTION READ ONLY, READ WRITE", "READ WRITE"),
        ("SET SESSION NAMES utf8", "utf8"),
        ("SET STATEMENT a = 1", ""),
        ("SET CHARACTER utf8", "utf8"),
    ] {
        for dialect in [Dialect::MySql, Dialect::MariaDb] {
            stops(sql, LexMode { dialect, ..MYSQL }, near);
        }
    }
}
