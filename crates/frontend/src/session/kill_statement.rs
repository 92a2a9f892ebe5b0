//! KILL, in all its forms, of Weir's sessions.
//!
//! What must always hold: the ids that clients know are those of Weir's sessions. No server is sent a KILL of a client's own, which would
//! hit somebody else there.

use weir_admin::sessions::Interrupt;
use weir_sql::ast::{AccountKind, KillWhom, Statement, StatementKind};
use weir_sql::{Bump, Effects, KillTarget, LexMode, Lexer, StateValues, TextKind, TokenKind, classify};
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;
use weir_wire::params::Parameter;

use super::Session;
use super::stopped::{SessionEnd, Stopped};
use super::syntax::syntax_error;

/// Whom a KILL names, beyond a number.
#[derive(Debug, PartialEq, Eq)]
enum Whom {
    /// The session whose id is this expression's value.
    Expression(Vec<u8>),
    /// The session whose id is the parameter.
    Parameter,
    /// All sessions of a user, from a host if one is named.
    User(String, Option<String>),
}

impl Session {
    /// KILL as a statement. `parameter`: the first value of a prepared one.
    pub(super) async fn kill_by_text(
        &mut self,
        target: KillTarget,
        text: &[u8],
        parameter: Option<Parameter<'_>>,
    ) -> Result<(), Stopped> {
        let (id, why) = match target {
            KillTarget::Connection(id) => (id, Interrupt::Connection),
            KillTarget::Query(id) => (id, Interrupt::Query),
            KillTarget::Other => match whom(text, self.state.lex, self.identity.mariadb)? {
                Some((Whom::Expression(expression), why)) => (self.id_of(&expression).await?, why),
                Some((Whom::Parameter, why)) => (number(parameter).ok_or_else(not_understood)?, why),
                Some((Whom::User(user, host), why)) => return self.kill_user(&user, host.as_deref(), why),
                None => return Err(not_understood().into()),
            },
        };
        self.kill(id, why).map_err(Stopped::Ended)
    }

    /// The value of an expression that names a session: what a server finds, with the session's own id for CONNECTION_ID().
    async fn id_of(&mut self, expression: &[u8]) -> Result<u64, Stopped> {
        let lex = self.state.lex;
        let text = [b"SELECT CAST((", expression, b") AS SIGNED) LIMIT 1"].concat();
        let class = classify(&text, lex);
        let harmless = Effects::READS | Effects::USES_USER_VARIABLES | Effects::USES_CONNECTION_ID;
        if class.kind != TextKind::Select
            || !class.pins.is_empty()
            || !(class.effects - harmless).is_empty()
            || has_query(expression, lex)
        {
            return Err(not_understood().into());
        }
        let connection_id = Some(u64::from(self.handle.id));
        let pseudo_thread_id = self.pseudo_thread_id();
        let values = StateValues { connection_id, pseudo_thread_id, ..StateValues::default() };
        let text = weir_sql::replace_state_functions(&text, lex, &values).unwrap_or(text);
        self.route(&class, None).await?;
        self.learn_values_left().await?;
        self.be_in_profile().await?;
        let connection = self.connection();
        connection.has_found_rows = false;
        let cell = connection.query(&text).await?.rows.into_iter().flatten().next().flatten();
        let value: Option<i64> = cell.and_then(|cell| std::str::from_utf8(&cell).ok()?.parse().ok());
        // As the server takes it: NULL is 0, and nobody has a negative id.
        Ok(value.unwrap_or_default().cast_unsigned())
    }

    /// KILL USER: as on MariaDB, the OK tells how many it has hit.
    fn kill_user(&mut self, user: &str, host: Option<&str>, why: Interrupt) -> Result<(), Stopped> {
        let (hit, own) = self.endpoint.commands.kill_user(user, host, why, (self.handle.id, self.caller()))?;
        for _ in 0..hit {
            self.endpoint.metrics.kills.inc();
        }
        if own {
            return self.kill(u64::from(self.handle.id), why).map_err(Stopped::Ended);
        }
        self.state.answered_here();
        self.state.latest.row_count = i64::try_from(hit).unwrap_or(i64::MAX);
        self.endpoint.metrics.answered_here.inc();
        let ok = OkPacket { affected_rows: hit as u64, ..OkPacket::plain(self.state.own_status()) };
        self.client.put_ok(&ok);
        Ok(())
    }

    /// Kills a session or its statement. One that kills itself is told so at once.
    pub(super) fn kill(&mut self, id: u64, why: Interrupt) -> Result<(), SessionEnd> {
        if id == u64::from(self.handle.id) {
            if why == Interrupt::Connection {
                return Err(SessionEnd::Told(self.own_end()));
            }
            self.refuse(&Self::interrupted_failure());
            return Ok(());
        }
        match self.endpoint.commands.kill(id, why, self.caller()) {
            Ok(()) => {
                self.endpoint.metrics.kills.inc();
                self.state.answered_here();
                self.ok_here();
            }
            Err(failure) => self.refuse(&failure),
        }
        Ok(())
    }

    /// What a session that kills itself is told: MariaDB and MySQL have errors of their own for it.
    fn own_end(&self) -> Failure {
        if !self.identity.mariadb {
            return Self::interrupted_failure();
        }
        Failure::client(codes::ER_CONNECTION_KILLED, "Connection was killed")
    }

    /// COM_PROCESS_KILL.
    pub(super) fn process_kill(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        match weir_wire::stmt::statement_id(payload) {
            Ok(id) => self.kill(u64::from(id), Interrupt::Connection),
            Err(error) => {
                self.refuse(&Failure::client(codes::ER_MALFORMED_PACKET, error.to_string()));
                Ok(())
            }
        }
    }
}

/// A KILL whose sessions can't be told: one by the id of a server's query, one of several parameters, one within a block.
pub(super) fn not_understood() -> Failure {
    let message = "KILL takes the connection id of a Weir session, as SHOW PROCESSLIST shows it, or an expression of it without queries; \
                   KILL QUERY ID is not supported, nor is KILL within a block: send KILL QUERY and the connection id";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

fn number(parameter: Option<Parameter<'_>>) -> Option<u64> {
    match parameter? {
        Parameter::Null => Some(0),
        Parameter::Signed(id) => Some(id.cast_unsigned()),
        Parameter::Unsigned(id) => Some(id),
        Parameter::Text(digits) | Parameter::Decimal(digits) => std::str::from_utf8(digits).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Whom a text of one KILL names, and what of them is to end.
fn whom(text: &[u8], lex: LexMode, mariadb: bool) -> Result<Option<(Whom, Interrupt)>, Failure> {
    let arena = Bump::new();
    let parsed = weir_sql::parse(&arena, text, lex).map_err(|error| syntax_error(&error, mariadb))?;
    let [statement] = parsed.statements else { return Ok(None) };
    let kill = match inner(statement).kind {
        StatementKind::Kill(kill) => kill,
        _ => return Ok(None),
    };
    let why = if kill.query { Interrupt::Query } else { Interrupt::Connection };
    let whom = match kill.target {
        KillWhom::Connection(id) => match id.span.text(text).trim_ascii() {
            b"?" => Whom::Parameter,
            expression => Whom::Expression(expression.to_vec()),
        },
        KillWhom::User(account) => match account.kind {
            AccountKind::Named { user, host } => {
                let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                Whom::User(name(user.name), host.map(|host| name(host.name)))
            }
            _ => return Ok(None),
        },
        KillWhom::QueryId(_) => return Ok(None),
    };
    Ok(Some((whom, why)))
}

/// The statement for which SET STATEMENT sets variables, or the statement itself.
fn inner<'a>(statement: &'a Statement<'a>) -> &'a Statement<'a> {
    match statement.kind {
        StatementKind::SetStatement(set) => set.statement,
        _ => statement,
    }
}

/// Whether an expression reads tables, or has parameters.
fn has_query(expression: &[u8], lex: LexMode) -> bool {
    Lexer::new(expression, lex).any(|token| {
        let text = token.text(expression);
        text == b"?" || token.kind == TokenKind::Word && text.eq_ignore_ascii_case(b"SELECT")
    })
}

#[cfg(test)]
mod tests {
    use weir_sql::Dialect;

    use super::*;

    #[test]
    fn a_kill_names_an_expression_a_parameter_or_a_user() {
        let maria = LexMode { dialect: Dialect::MariaDb, ..LexMode::default() };
        let told = |text: &str| whom(text.as_bytes(), maria, true);
        let expression = |text: &str| Whom::Expression(text.as_bytes().to_vec());
        let user = |user: &str, host: Option<&str>| Whom::User(user.to_owned(), host.map(str::to_owned));
        let cases = [
            ("KILL 5 + 1", Some((expression("5 + 1"), Interrupt::Connection))),
            ("KILL QUERY CONNECTION_ID()", Some((expression("CONNECTION_ID()"), Interrupt::Query))),
            ("KILL QUERY @a", Some((expression("@a"), Interrupt::Query))),
            ("KILL ?", Some((Whom::Parameter, Interrupt::Connection))),
            ("KILL USER bob", Some((user("bob", None), Interrupt::Connection))),
            ("KILL SOFT QUERY USER 'bob'@'10.0.0.1'", Some((user("bob", Some("10.0.0.1")), Interrupt::Query))),
            ("SET STATEMENT max_statement_time = 1 FOR KILL 7 - 1", Some((expression("7 - 1"), Interrupt::Connection))),
            ("KILL QUERY ID 5", None),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text).expect("a statement"), expected, "{text}");
        }
        let mysql = LexMode { dialect: Dialect::MySql, ..maria };
        let refused = whom(b"KILL USER bob", mysql, false).expect_err("MySQL has no such form");
        assert_eq!(refused.code, codes::ER_PARSE_ERROR);
        assert!(has_query(b"(SELECT 5)", maria) && has_query(b"? + 1", maria) && !has_query(b"@a + 1", maria));
    }

    #[test]
    fn a_parameter_is_a_number_or_says_one() {
        assert_eq!(number(Some(Parameter::Signed(7))), Some(7));
        assert_eq!(number(Some(Parameter::Text(b"7"))), Some(7));
        assert_eq!(number(Some(Parameter::Null)), Some(0));
        assert_eq!(number(Some(Parameter::Text(b"x"))), None);
        assert_eq!(number(None), None);
    }
}
