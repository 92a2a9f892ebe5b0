//! What kind of statement a text is, for counting and for rules.
//!
//! What must always hold: the kind follows from the text's tokens alone, so that all texts of one digest have one kind.

use weir_sql::{Class, Effects, LexMode, Lexer, Pins, TextKind, TokenKind};

/// A kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// SELECT, WITH … SELECT, VALUES, TABLE.
    Select,
    /// INSERT, REPLACE, LOAD.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// CREATE, ALTER, DROP, RENAME, TRUNCATE.
    Ddl,
    /// BEGIN, COMMIT, ROLLBACK, savepoints, XA.
    Transaction,
    /// Everything else, and several statements in one text.
    Other,
}

impl StatementKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [StatementKind; 7] = [
        StatementKind::Select,
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Ddl,
        StatementKind::Transaction,
        StatementKind::Other,
    ];

    /// The kind of a text of this class.
    pub fn of(text: &[u8], mode: LexMode, class: &Class) -> StatementKind {
        match class.kind {
            TextKind::Select => StatementKind::Select,
            TextKind::Multiple => StatementKind::Other,
            _ => by_first_word(text, mode),
        }
    }

    /// Its place in [`StatementKind::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in metrics, logs and the configuration.
    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Select => "select",
            StatementKind::Insert => "insert",
            StatementKind::Update => "update",
            StatementKind::Delete => "delete",
            StatementKind::Ddl => "ddl",
            StatementKind::Transaction => "transaction",
            StatementKind::Other => "other",
        }
    }
}

/// Whether a text may change data, as far as that can be seen in it; so it is refused while Weir is read-only. Stored
/// routines and what is not recognised may.
pub(crate) fn changes_data(text: &[u8], mode: LexMode, class: &Class, kind: StatementKind) -> bool {
    let unknown = Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT | Pins::SEQUENCE | Pins::CALL;
    if !class.effects.contains(Effects::WRITES) {
        return false;
    }
    // A block begins as a transaction does.
    if class.effects.contains(Effects::RUNS_OTHERS) {
        return true;
    }
    match kind {
        // Locking rows, writing a file of the server's.
        StatementKind::Select | StatementKind::Transaction => class.pins.intersects(unknown),
        StatementKind::Other if class.kind != TextKind::Multiple => {
            const NO_DATA: [&str; 13] = [
                "SET", "FLUSH", "LOCK", "UNLOCK", "KILL", "SHOW", "USE", "DO", "HANDLER", "EXPLAIN", "DESCRIBE",
                "DESC", "CHECK",
            ];
            let first = first_word(text, mode);
            let harmless = first.is_some_and(|first| NO_DATA.contains(&first.as_str()));
            !harmless || class.pins.intersects(unknown) || class.effects.contains(Effects::SETS_FOR_STATEMENT)
        }
        _ => true,
    }
}

fn first_word(text: &[u8], mode: LexMode) -> Option<String> {
    let first = Lexer::new(text, mode).find(|token| token.kind == TokenKind::Word)?;
    Some(String::from_utf8_lossy(first.text(text)).to_ascii_uppercase())
}

fn by_first_word(text: &[u8], mode: LexMode) -> StatementKind {
    let mut tokens = Lexer::new(text, mode).filter(|token| token.kind == TokenKind::Word || is_parenthesis(token.kind));
    let word = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_uppercase();
    let Some(first) = tokens.by_ref().find(|token| token.kind == TokenKind::Word) else { return StatementKind::Other };
    match word(first.text(text)).as_str() {
        "INSERT" | "REPLACE" | "LOAD" => StatementKind::Insert,
        "UPDATE" => StatementKind::Update,
        "DELETE" => StatementKind::Delete,
        "CREATE" | "ALTER" | "DROP" | "RENAME" | "TRUNCATE" => StatementKind::Ddl,
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "XA" => StatementKind::Transaction,
        "WITH" => {
            // The verb stands outside of the parentheses of the common table expressions.
            let mut depth = 0_i32;
            let verb = tokens.find_map(|token| {
                match token.kind {
                    TokenKind::Punct(b'(') => depth += 1,
                    TokenKind::Punct(b')') => depth -= 1,
                    _ if depth == 0 => match word(token.text(text)).as_str() {
                        "UPDATE" => return Some(StatementKind::Update),
                        "DELETE" => return Some(StatementKind::Delete),
                        "INSERT" | "REPLACE" => return Some(StatementKind::Insert),
                        _ => {}
                    },
                    _ => {}
                }
                None
            });
            verb.unwrap_or(StatementKind::Other)
        }
        _ => StatementKind::Other,
    }
}

fn is_parenthesis(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Punct(b'(' | b')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_first_words() {
        let cases = [
            ("SELECT 1", StatementKind::Select),
            ("(SELECT 1) UNION (SELECT 2)", StatementKind::Select),
            ("WITH a AS (SELECT 1) SELECT * FROM a", StatementKind::Select),
            ("WITH a AS (SELECT 1) UPDATE t SET x = 1", StatementKind::Update),
            ("with a as (select 1) delete from t", StatementKind::Delete),
            ("/* hello */ insert into t values (1)", StatementKind::Insert),
            ("REPLACE t VALUES (1)", StatementKind::Insert),
            ("LOAD DATA INFILE 'x' INTO TABLE t", StatementKind::Insert),
            ("CREATE TABLE t (a INT)", StatementKind::Ddl),
            ("truncate t", StatementKind::Ddl),
            ("START TRANSACTION", StatementKind::Transaction),
            ("COMMIT", StatementKind::Transaction),
            ("SET @a = 1", StatementKind::Other),
            ("SELECT 1; DELETE FROM t", StatementKind::Other),
            ("", StatementKind::Other),
        ];
        for (text, kind) in cases {
            let (bytes, mode) = (text.as_bytes(), LexMode::default());
            assert_eq!(StatementKind::of(bytes, mode, &weir_sql::classify(bytes, mode)), kind, "{text}");
        }
    }

    #[test]
    fn what_changes_data_is_refused_while_read_only() {
        let changes = [
            "INSERT INTO t VALUES (1)",
            "REPLACE t VALUES (1)",
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "WITH a AS (SELECT 1) DELETE FROM t",
            "LOAD DATA INFILE 'x' INTO TABLE t",
            "CREATE TABLE t (a INT)",
            "TRUNCATE t",
            "DROP DATABASE d",
            "GRANT ALL ON *.* TO u",
            "CALL p()",
            "SELECT my_function(1)",
            "DO my_function(1)",
            "EXECUTE s",
            "SELECT 1; DELETE FROM t",
            "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "ANALYZE DELETE FROM t",
            "NONSENSE",
        ];
        let harmless = [
            "SELECT a FROM t",
            "SELECT a FROM t FOR UPDATE",
            "BEGIN",
            "COMMIT",
            "SAVEPOINT a",
            "SET @a = 1",
            "SET GLOBAL max_connections = 10",
            "SHOW TABLES",
            "LOCK TABLES t READ",
            "UNLOCK TABLES",
            "FLUSH TABLES",
            "EXPLAIN DELETE FROM t",
            "KILL 7",
            "USE d",
        ];
        for (texts, expected) in [(&changes[..], true), (&harmless, false)] {
            for text in texts {
                let (bytes, mode) = (text.as_bytes(), LexMode::default());
                let class = weir_sql::classify(bytes, mode);
                let kind = StatementKind::of(bytes, mode, &class);
                assert_eq!(changes_data(bytes, mode, &class, kind), expected, "{text}");
            }
        }
    }

    #[test]
    fn numbers_are_places_in_the_list() {
        for (at, kind) in StatementKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), at, "{}", kind.name());
        }
    }
}
