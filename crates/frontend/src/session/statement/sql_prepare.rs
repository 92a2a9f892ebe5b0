//! PREPARE, EXECUTE and DEALLOCATE PREPARE as texts, where there are sharded databases: the session keeps what a name stands for, so that
//! each execution runs wherever its rows are.
//!
//! What must always hold: a server has found nothing wrong with a text before its name is kept. A text without parameters runs as if the
//! client had sent it; one with parameters is prepared and executed by each server that runs it, under a name of Weir's own and with
//! the user variables that the client named, so that types and columns are what the server makes of them.

use std::collections::BTreeSet;
use std::rc::Rc;

use weir_admin::digests::Digested;
use weir_backend::prepared::StatementKey;
use weir_backend::profile::{Profile, charset_of};
use weir_catalog::Constant;
use weir_sql::ast::{ExecuteSource, Expr, ExprKind, Literal, StatementKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Class, Effects, Pins, TextKind, classify};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};
use weir_wire::packets::OkPacket;

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;
use super::super::prepared_statement::SqlPrepared;
use super::super::state::OUT_OF_SIGHT;
use super::super::stopped::Stopped;
use super::{Form, Statement, Values};
use crate::literals::variable;

/// What a text does with a prepared one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum SqlPrepare {
    /// PREPARE: the name, and the expression whose value the text is.
    Prepare { name: String, source: Vec<u8> },
    /// EXECUTE: the name, and the parameters, unless one of them is neither a variable nor a value.
    Execute { name: String, using: Option<Vec<Using>> },
    /// EXECUTE IMMEDIATE.
    Immediate { source: Vec<u8>, using: Option<Vec<Using>> },
    /// DEALLOCATE PREPARE.
    Deallocate { name: String },
}

/// A parameter of EXECUTE.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum Using {
    /// A user variable, in lower case.
    Variable(String),
    /// An expression (MariaDB).
    Value {
        text: Vec<u8>,
        /// It is a string that stands in the text.
        is_string: bool,
    },
}

impl SqlPrepare {
    /// What servers say of its name, if it has to be known and is not.
    pub(in crate::session) fn unknown_name(&self, is_prepared: impl Fn(&str) -> bool) -> Option<Failure> {
        let (name, command) = match self {
            SqlPrepare::Execute { name, .. } => (name, "EXECUTE"),
            SqlPrepare::Deallocate { name } => (name, "DEALLOCATE PREPARE"),
            SqlPrepare::Prepare { .. } | SqlPrepare::Immediate { .. } => return None,
        };
        (!is_prepared(&name.to_lowercase())).then(|| unknown(name, command))
    }
}

/// What a statement does with prepared texts, if it is about them.
pub(in crate::session) fn request(statement: &Statement<'_>, mariadb: bool) -> Option<SqlPrepare> {
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let source = |expr: &Expr<'_>| expr.span.text(statement.text).to_vec();
    Some(match statement.only()?.kind {
        StatementKind::Prepare(prepare) => {
            SqlPrepare::Prepare { name: name(prepare.name.name), source: source(&prepare.text) }
        }
        StatementKind::Execute(execute) => match &execute.source {
            ExecuteSource::Prepared(prepared) => {
                SqlPrepare::Execute { name: name(prepared.name), using: parameters(statement, execute.using) }
            }
            // MySQL does not know it, and says so.
            ExecuteSource::Immediate(_) if !mariadb => return None,
            ExecuteSource::Immediate(text) => {
                SqlPrepare::Immediate { source: source(text), using: parameters(statement, execute.using) }
            }
        },
        StatementKind::Deallocate(prepared) => SqlPrepare::Deallocate { name: name(prepared.name) },
        _ => return None,
    })
}

impl Session {
    pub(super) fn has_sharded_databases(&self) -> bool {
        self.endpoint.sharding.as_ref().is_some_and(|sharding| !sharding.catalog().databases.is_empty())
    }

    /// Prepares, runs or forgets a text.
    pub(in crate::session) async fn run_sql_prepare(
        &mut self,
        statement: &Statement<'_>,
        request: SqlPrepare,
    ) -> Result<(), Stopped> {
        let prepared = &mut self.state.sql_prepared;
        match request {
            SqlPrepare::Prepare { name, source } => {
                prepared.remove(&name.to_lowercase());
                let (prepared, warnings) = self.prepare_source(&source, statement.class).await?;
                let packet = self.endpoint.settings.load().max_allowed_packet;
                self.state.may_prepare(prepared.text.len(), packet)?;
                self.state.sql_prepared.insert(name.to_lowercase(), Rc::new(prepared));
                self.ok_for_name(b"Statement prepared", warnings);
            }
            SqlPrepare::Deallocate { name } => {
                prepared.remove(&name.to_lowercase());
                self.ok_for_name(b"", Vec::new());
            }
            SqlPrepare::Execute { name, using } => {
                let known = prepared.get(&name.to_lowercase()).cloned();
                let known = known.ok_or_else(|| unknown(&name, "EXECUTE"))?;
                self.execute_prepared(&known, using, statement).await?;
            }
            SqlPrepare::Immediate { source, using } => {
                let (prepared, _) = self.prepare_source(&source, statement.class).await?;
                self.execute_prepared(&prepared, using, statement).await?;
            }
        }
        Ok(())
    }

    fn ok_for_name(&mut self, info: &'static [u8], warnings: Vec<Condition>) {
        self.state.answered_here();
        self.endpoint.metrics.answered_here.inc();
        self.state.latest.warnings = u16::try_from(warnings.len()).unwrap_or(u16::MAX);
        let ok = OkPacket { info, warnings: self.state.latest.warnings, ..OkPacket::plain(self.state.own_status()) };
        self.client.put_ok(&ok);
        if !warnings.is_empty() {
            self.state.latest.diagnostics = Diagnostics::Learnt(warnings);
        }
    }

    /// Has a server look at the text that an expression of the client's is, with its warnings.
    pub(in crate::session) async fn prepare_source(
        &mut self,
        source: &[u8],
        class: &Class,
    ) -> Result<(SqlPrepared, Vec<Condition>), Stopped> {
        let calls = Pins::UNKNOWN_FUNCTION | Pins::SEQUENCE | Pins::USER_LOCK | Pins::COMPUTED_USER_VARIABLE;
        if class.pins.intersects(calls) {
            let message =
                "The text of a PREPARE that calls functions or assigns variables: assign it to a user variable first";
            return Err(not_supported(message).into());
        }
        let text = self.value_of_source(source).await?;
        let parsing = Rc::new(self.state.profile.parsing());
        let (class, arena) = (classify(&text, self.state.lex), Bump::new());
        let statement = Statement::new(&arena, &text, &class, self.state.lex, Form::Resolved);
        self.aim_preparation(&statement).await?;
        let read = Class { effects: Effects::READS, ..Class::default() };
        self.route(&read, None).await?;
        let key = self.shared.statement_keys.share(StatementKey::new(text.clone().into(), parsing.clone()));
        self.have_connection().await?;
        self.connection().close_if_warned(&key);
        self.have_statement(&key).await?;
        let warnings = self.warnings_of_statement(&key).await?;
        let parsed = statement.parsed().map_err(|error| self.syntax_error(error))?;
        Ok((SqlPrepared { parameters: parsed.parameters as usize, text: text.as_slice().into(), parsing }, warnings))
    }

    /// What the server has warned of in a statement that it has just prepared.
    async fn warnings_of_statement(&mut self, key: &StatementKey) -> Result<Vec<Condition>, Stopped> {
        let lease = self.connection();
        if !lease.statements.peek(key).is_some_and(|prepared| prepared.warned) {
            return Ok(Vec::new());
        }
        Ok(Condition::all_on(lease).await?)
    }

    /// The text that an expression is, in the client's character set. NULL is read as the word, as servers do.
    async fn value_of_source(&mut self, source: &[u8]) -> Result<Vec<u8>, Stopped> {
        let charset = self.text_charset()?;
        let read = Class { effects: Effects::READS, ..Class::default() };
        self.learn_values_left().await?;
        self.route(&read, None).await?;
        self.be_in_profile().await?;
        let question = [b"SELECT HEX(CONVERT((", source, b") USING ", charset.as_bytes(), b")) LIMIT 1"].concat();
        let lease = self.connection();
        lease.has_found_rows = false;
        let cell = lease.query(&question).await?.rows.into_iter().flatten().next().flatten();
        let Some(digits) = cell else { return Ok(b"NULL".to_vec()) };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes: Option<Vec<u8>> =
            digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
        bytes.ok_or_else(|| {
            not_supported(
                "The text of a PREPARE could not be read: write it as a literal, or SET the user variable to one first",
            )
            .into()
        })
    }

    /// The character set of texts, if bytes of them that look like ASCII are.
    pub(super) fn text_charset(&self) -> Result<String, Failure> {
        let charset = charset_of(self.state.profile.variable("character_set_client").unwrap_or("utf8mb4"));
        match self.state.lex.lead_bytes.is_ascii() {
            true => Ok(charset.to_owned()),
            false => {
                Err(not_supported(format!("PREPARE of a text in character set {charset}: SET NAMES utf8mb4 first")))
            }
        }
    }

    /// A connection that is in the session's profile.
    pub(in crate::session) async fn be_in_profile(&mut self) -> Result<(), Stopped> {
        self.have_connection().await?;
        let profile = self.state.profile.clone();
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        if self.connection().profile().has_others_user_variables(&profile) {
            self.connection().reset().await?;
        }
        self.queue_wait();
        let connection = self.connection();
        connection.queue_state(&profile, tracking)?;
        connection.flush().await?;
        self.confirm_state().await
    }

    /// The parameters of an execution, if it can be one of this text.
    pub(in crate::session) fn parameters_of(
        &self,
        prepared: &SqlPrepared,
        using: Option<Vec<Using>>,
    ) -> Result<Vec<Using>, Failure> {
        let Some(using) = using else {
            return Err(not_supported("EXECUTE … USING needs user variables: assign the value to one first"));
        };
        if using.len() != prepared.parameters {
            let message = "Incorrect arguments to EXECUTE";
            return Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message));
        }
        let default = &self.identity.sql_mode;
        if read_as(&self.state.profile, default) != read_as(&prepared.parsing, default) {
            let message = "The default database, sql_mode or the character sets have changed since this statement was prepared: PREPARE it again";
            return Err(not_supported(message));
        }
        Ok(using)
    }

    pub(in crate::session) async fn execute_prepared(
        &mut self,
        prepared: &SqlPrepared,
        using: Option<Vec<Using>>,
        by: &Statement<'_>,
    ) -> Result<(), Stopped> {
        let using = self.parameters_of(prepared, using)?;
        let read = self.shared.read(&prepared.text, self.state.lex);
        let has_values = using.iter().any(|parameter| matches!(parameter, Using::Value { .. }));
        if has_values && classify(&prepared.text, self.state.lex).effects.contains(Effects::IMPLICIT_COMMIT) {
            // Columns that a definition makes of values would get the types of variables, which are wider.
            return Err(not_supported("EXECUTE … USING values in a definition: write them into its text").into());
        }
        let names = self.variables_of_parameters(using, by.class).await?;
        if let (true, Form::Text(text)) = (names.is_empty(), &by.form) {
            let command = [text.head, &prepared.text].concat();
            return Box::pin(self.run_text(&command, text.head.len(), &read)).await.map_err(Stopped::Ended);
        }
        self.may_execute(&read.digested)?;
        let mut class = classify(&prepared.text, self.state.lex);
        let counts = Effects::USES_WARNINGS | Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        if class.effects.intersects(counts) || class.pins.contains(Pins::TEXT_PREPARE) {
            let message =
                "EXECUTE … USING of a statement that uses what the previous one has left: send it as a text of its own";
            return Err(not_supported(message).into());
        }
        if class.pins.contains(Pins::CALL) || matches!(class.kind, TextKind::SetUserVariables(_)) {
            class.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.state.assigned.extend(names.iter().cloned());
        }
        if let Some(known) = self.class_by_programs(&class, &prepared.text) {
            class = Class { pins: known.pins | class.pins & Pins::COMPUTED_USER_VARIABLE, ..known };
        }
        let constants = self.values_of(&names, &prepared.text).await?;
        let values = Values { names, constants };
        let arena = Bump::new();
        let statement = Statement::new(&arena, &prepared.text, &class, self.state.lex, Form::SqlPrepared(&values));
        Box::pin(self.run_statement(&statement)).await
    }

    /// Whether a text may be executed that has not come as one.
    pub(in crate::session) fn may_execute(&mut self, entry: &Digested) -> Result<(), Failure> {
        self.may_run(entry)?;
        match self.rule_for(entry) {
            Some(_) => Err(not_supported("A rule applies to this statement: send it as a text of its own")),
            None => Ok(()),
        }
    }

    /// The user variables of an execution. Values become variables of Weir's own, on the session's connection: what they are is the server's
    /// to say. It says of a date only what its text is; so a text has to stand in the statement.
    async fn variables_of_parameters(&mut self, using: Vec<Using>, class: &Class) -> Result<Vec<String>, Stopped> {
        let (mut names, mut values, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (place, parameter) in using.into_iter().enumerate() {
            names.push(match parameter {
                Using::Variable(name) => name,
                Using::Value { text, is_string } => {
                    let name = format!("weir parameter {place}");
                    values.push((name.clone(), is_string));
                    texts.push([b"@`", name.as_bytes(), b"` = (", &text, b")"].concat());
                    name
                }
            });
        }
        if values.is_empty() {
            return Ok(names);
        }
        let calls = Pins::UNKNOWN_FUNCTION | Pins::SEQUENCE | Pins::USER_LOCK | Pins::COMPUTED_USER_VARIABLE;
        if class.pins.intersects(calls) {
            let message =
                "EXECUTE … USING a value that calls functions or assigns variables: assign it to a user variable first";
            return Err(not_supported(message).into());
        }
        self.learn_values_left().await?;
        self.route(&Class { effects: Effects::READS, ..Class::default() }, None).await?;
        self.be_in_profile().await?;
        self.connection().query(&[b"SET ", &texts.join(&b", "[..])[..]].concat()).await?;
        let own: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        self.learn_variables_named(&own).await?;
        for (name, is_string) in &values {
            let value = self.state.profile.user_variable(name).and_then(variable);
            if !is_string && matches!(value, None | Some(Constant::Text { .. } | Constant::Binary(_))) {
                let message =
                    "EXECUTE … USING an expression that is no number: assign the value to a user variable first";
                return Err(not_supported(message).into());
            }
        }
        Ok(names)
    }

    /// The values of user variables, as parameters. What is not known is asked of the session's connection.
    async fn values_of(&mut self, names: &[String], text: &[u8]) -> Result<Vec<Constant>, Stopped> {
        let opaque = self.state.pins.intersects(OUT_OF_SIGHT | Pins::COMPUTED_USER_VARIABLE);
        if self.current.lease.is_some() && opaque {
            let named: Vec<String> = names.iter().map(|name| format!("@`{name}` ")).collect();
            self.learn_user_variables(&[named.concat().as_bytes(), text].concat(), BTreeSet::new()).await?;
        }
        let known = |session: &Self, name: &String| match session.state.profile.user_variable(name) {
            Some(literal) => variable(literal),
            None => Some(Constant::Null),
        };
        if !names.iter().all(|name| known(self, name).is_some()) {
            self.route(&Class { effects: Effects::READS, ..Class::default() }, None).await?;
            self.learn_values_left().await?;
            self.be_in_profile().await?;
            self.learn_variables_named(names).await?;
        }
        let constants: Option<Vec<_>> = names.iter().map(|name| known(self, name).map(as_parameter)).collect();
        constants.ok_or_else(|| {
            not_supported("The value of a user variable of EXECUTE … USING is not known: SET it to a literal first")
                .into()
        })
    }
}

/// The parameters of an EXECUTE; `None` if one of them is DEFAULT or the like, reads tables, or is a variable with a strange name.
fn parameters(statement: &Statement<'_>, using: &[Expr<'_>]) -> Option<Vec<Using>> {
    let parameter = |expr: &Expr<'_>| match expr.kind {
        ExprKind::UserVariable(name) => {
            let name = std::str::from_utf8(name.name).ok()?.to_lowercase();
            (!name.contains(['`', '\'', '"', '\\'])).then_some(Using::Variable(name))
        }
        ExprKind::Word(_) => None,
        _ if has_query(expr) => None,
        _ => {
            let is_string = matches!(expr.bare().kind, ExprKind::Literal(Literal::String | Literal::Text(_)));
            Some(Using::Value { text: expr.span.text(statement.text).to_vec(), is_string })
        }
    };
    using.iter().map(parameter).collect()
}

/// How a text is read.
type Reading<'p> = (Option<&'p [u8]>, [Option<&'p str>; 4], Vec<&'p str>);

/// What of a profile says how a text is read, however it was set: the database, the character sets, and the words of `sql_mode`.
fn read_as<'p>(profile: &'p Profile, default_mode: &'p str) -> Reading<'p> {
    let mode = profile.variable("sql_mode").unwrap_or(default_mode);
    let mut words: Vec<&str> = mode.split(',').filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    let charset = |name: &str| profile.variable(name).map(charset_of);
    let charsets = [
        charset("character_set_client"),
        charset("character_set_connection"),
        profile.variable("collation_connection"),
        profile.variable("character_set_results"),
    ];
    (profile.database.as_deref(), charsets, words)
}

/// Whether an expression has a query within.
fn has_query(expr: &Expr<'_>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'_>| {
        found |= matches!(node, Node::Query(_));
        if found { Flow::Stop } else { Flow::Descend }
    });
    found
}

/// A variable's value as that of a parameter, whose collation is no stronger than that of a literal.
fn as_parameter(constant: Constant) -> Constant {
    match constant {
        Constant::Text { bytes, collation, .. } => Constant::Text { bytes, collation, explicit: false },
        other => other,
    }
}

fn unknown(name: &str, command: &str) -> Failure {
    let message = format!("Unknown prepared statement handler ({name}) given to {command}");
    Failure::client(codes::ER_UNKNOWN_STMT_HANDLER, message)
}
