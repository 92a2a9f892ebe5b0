//! Which kind of statement a text is, found by its first words alone: the parser that is measured has no say in it.

use weir_sql::{LexMode, Lexer, TokenKind};

/// Kinds of statements, as the table has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Select,
    Insert,
    Update,
    Delete,
    Set,
    Show,
    Table,
    Index,
    View,
    Database,
    Account,
    Routine,
    Transaction,
    Other,
}

/// All of them, in the table's order.
pub(crate) const ALL: [Class; 14] = [
    Class::Select,
    Class::Insert,
    Class::Update,
    Class::Delete,
    Class::Set,
    Class::Show,
    Class::Table,
    Class::Index,
    Class::View,
    Class::Database,
    Class::Account,
    Class::Routine,
    Class::Transaction,
    Class::Other,
];

impl Class {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Select => "SELECT, WITH, VALUES, TABLE",
            Class::Insert => "INSERT, REPLACE",
            Class::Update => "UPDATE",
            Class::Delete => "DELETE",
            Class::Set => "SET",
            Class::Show => "SHOW",
            Class::Table => "table DDL",
            Class::Index => "index DDL",
            Class::View => "view DDL",
            Class::Database => "database DDL",
            Class::Account => "account DDL",
            Class::Routine => "routine, trigger, event DDL",
            Class::Transaction => "transactions",
            Class::Other => "other",
        }
    }

    /// How many in a hundred have to be read, without an opaque node.
    pub(crate) fn threshold(self) -> Option<f64> {
        match self {
            Class::Select | Class::Insert | Class::Update | Class::Delete | Class::Set | Class::Show => Some(99.5),
            Class::Table | Class::Index | Class::View | Class::Database | Class::Account => Some(98.0),
            Class::Routine | Class::Transaction | Class::Other => None,
        }
    }

    /// Of a text.
    pub(crate) fn of(sql: &[u8], mode: LexMode) -> Self {
        let words = first_words(sql, mode);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        match word(0) {
            "SELECT" | "WITH" | "VALUES" | "TABLE" | "(" => Class::Select,
            "INSERT" | "REPLACE" => Class::Insert,
            "UPDATE" => Class::Update,
            "DELETE" => Class::Delete,
            "SET" => Class::Set,
            "SHOW" => Class::Show,
            "CREATE" | "ALTER" | "DROP" | "RENAME" => of_object(&words[1..]),
            "TRUNCATE" => Class::Table,
            "GRANT" | "REVOKE" => Class::Account,
            "BEGIN" if word(1) == "NOT" => Class::Other,
            "BEGIN" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "XA" | "LOCK" | "UNLOCK" => Class::Transaction,
            "START" if word(1) == "TRANSACTION" => Class::Transaction,
            _ => Class::Other,
        }
    }
}

/// Of what follows CREATE, ALTER, DROP or RENAME: the first word that names a kind of object says it.
fn of_object(words: &[String]) -> Class {
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", String::as_str);
        return match word.as_str() {
            "TABLE" | "TABLES" | "SEQUENCE" => Class::Table,
            "INDEX" => Class::Index,
            "VIEW" => Class::View,
            "DATABASE" | "SCHEMA" => Class::Database,
            "USER" | "ROLE" => Class::Account,
            "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" | "PACKAGE" => Class::Routine,
            "SERVER" | "TABLESPACE" | "LOGFILE" | "UNDO" | "INSTANCE" | "RESOURCE" | "LIBRARY" | "PREPARE" => {
                Class::Other
            }
            "SPATIAL" if next == "REFERENCE" => Class::Other,
            _ => continue,
        };
    }
    Class::Other
}

/// The first words, in upper case; a parenthesis stands for itself.
pub(crate) fn first_words(sql: &[u8], mode: LexMode) -> Vec<String> {
    const WORDS: usize = 24;
    let mut lexer = Lexer::new(sql, mode);
    let mut words = Vec::new();
    for _ in 0..WORDS * 2 {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Unterminated => break,
            TokenKind::Word => words.push(String::from_utf8_lossy(token.text(sql)).to_ascii_uppercase()),
            TokenKind::Punct(b'(') => words.push("(".to_owned()),
            _ => {}
        }
        if words.len() == WORDS {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use weir_sql::LexMode;

    use super::Class;

    #[test]
    fn the_first_words_say_the_class() {
        for (sql, class) in [
            ("/* x */ (SELECT 1)", Class::Select),
            ("/*!50000 CREATE */ TEMPORARY TABLE user (a INT)", Class::Table),
            ("CREATE UNIQUE INDEX i ON t (a)", Class::Index),
            ("create definer=`a`@`b` sql security invoker view v as select 1", Class::View),
            ("CREATE OR REPLACE ALGORITHM=MERGE DEFINER=CURRENT_USER() VIEW v AS TABLE t", Class::View),
            ("DROP SCHEMA IF EXISTS d", Class::Database),
            ("RENAME USER a TO b", Class::Account),
            ("CREATE SPATIAL REFERENCE SYSTEM 1 NAME 'x'", Class::Other),
            ("CREATE DEFINER = u TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @a = 1", Class::Routine),
            ("BEGIN NOT ATOMIC SELECT 1; END", Class::Other),
            ("START TRANSACTION READ ONLY", Class::Transaction),
            ("EXPLAIN SELECT 1", Class::Other),
        ] {
            assert_eq!(Class::of(sql.as_bytes(), LexMode::default()), class, "{sql}");
        }
    }
}
