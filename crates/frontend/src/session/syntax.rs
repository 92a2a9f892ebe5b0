//! A text that can't be read.

use weir_sql::{MAX_DEPTH, SyntaxError};
use weir_wire::Failure;
use weir_wire::error::codes;

/// A text that can't be read, in the words of a kind of server. One that is only nested too deeply is no error of syntax:
/// it gets the code with which a server ends such a statement when its own stack is used up.
pub(super) fn syntax_error(error: &SyntaxError, mariadb: bool) -> Failure {
    if error.is_too_deep() {
        let message = format!(
            "The statement is nested more than {MAX_DEPTH} levels deep, which Weir does not read over several shards; \
             write it with fewer parentheses, operators within operators or subqueries"
        );
        return Failure::client(codes::ER_STACK_OVERRUN_NEED_MORE, message);
    }
    let kind = if mariadb { "MariaDB" } else { "MySQL" };
    let message = error.to_string().replacen("your server version", &format!("your {kind} server version"), 1);
    // What would have fitted is behind the place where the server's own words end.
    let end = message.rfind("' at line ").map_or(message.len(), |at| {
        let number = at + "' at line ".len();
        number + message[number..].bytes().take_while(u8::is_ascii_digit).count()
    });
    let form = error.form().map(|form| format!(". This is Weir's own, written {form}")).unwrap_or_default();
    Failure::client(codes::ER_PARSE_ERROR, format!("{}{form}", &message[..end]))
}

#[cfg(test)]
mod tests {
    use weir_sql::{Bump, LexMode};

    use super::*;

    #[test]
    fn a_text_that_is_nested_too_deeply_is_no_syntax_error() {
        let arena = Bump::new();
        let deep = format!("SELECT {}1{}", "(".repeat(2000), ")".repeat(2000));
        let error = weir_sql::parse(&arena, deep.as_bytes(), LexMode::default()).expect_err("too deep");
        assert_eq!(syntax_error(&error, true).code, codes::ER_STACK_OVERRUN_NEED_MORE);
    }

    #[test]
    fn an_error_in_weirs_own_clause_shows_its_form_and_others_are_the_servers() {
        let told = |text: &str| {
            let arena = Bump::new();
            let error = weir_sql::parse(&arena, text.as_bytes(), LexMode::default()).expect_err(text);
            syntax_error(&error, true).message.clone()
        };
        let own = told("CREATE TABLE t (id INT) SHARD BY RANGE(id) (s1 LESS THAN 5)");
        assert!(
            own.contains("near 'LESS THAN 5)' at line 1. This is Weir's own, written SHARD BY RANGE(column)"),
            "{own}"
        );
        assert!(told("SELECT FROM WHERE").ends_with("near 'FROM WHERE' at line 1"));
    }
}
