//! The variables of a procedure: columns of the one row of a temporary table, on a connection of the CALL's own.
//!
//! What must always hold: a value is stored and computed by a server, in the declared type and under the procedure's `sql_mode`. The
//! connection is retired while it has the table: whatever ends the CALL early closes it.

use weir_backend::OwnReply;
use weir_plan::Stepwise;
use weir_plan::write::literal::quoted_name;
use weir_program::{Kind, Level, Raised, Rows, Template, Variable};
use weir_wire::binlog::unhex;
use weir_wire::error::{codes, not_supported};
use weir_wire::{Failure, StatusFlags};

use super::super::super::Session;
use super::super::super::condition::Condition;
use super::super::super::relay::ends_statement;
use super::super::super::stopped::Stopped;
use super::super::super::transaction::StatementLeases;
use super::super::waiting::{attend, failure_told, running};
use super::captured::Table;
use crate::literals::is_default;

/// The table's name.
const TABLE: &str = "weir stepwise";
/// Warnings of values that are cut, wrong or out of range, which strict mode makes errors.
const ERRORS_OF_STRICT_MODE: [u16; 8] = [1260, 1264, 1265, 1292, 1366, 1406, 1411, 1441];
const ER_ROW_VARIABLE_DOES_NOT_HAVE_FIELD: u16 = 4082;

/// See the module.
pub(super) struct Variables<'p> {
    plan: &'p Stepwise,
    bench: StatementLeases,
    /// Values as literals; `None`: they have changed.
    values: Vec<Option<Vec<u8>>>,
    /// Fields of rows that have no such column.
    missing: std::collections::BTreeMap<usize, Raised>,
    /// The row number in errors of MariaDB: one more than the rows that the statement before has changed.
    pub(super) row: u64,
}

/// An answer to a question about variables: what the server warned of, or its error.
pub(super) type Asked<T> = Result<Result<(T, Vec<Raised>), Raised>, Stopped>;

impl<'p> Variables<'p> {
    pub(super) fn new(plan: &'p Stepwise, mut bench: StatementLeases) -> Variables<'p> {
        bench.parts.iter_mut().for_each(|part| part.lease.retired = true);
        Variables { plan, bench, values: vec![None; plan.program.variables.len()], missing: Default::default(), row: 0 }
    }

    /// Runs a text on the connection.
    async fn query(&mut self, session: &mut Session, text: &[u8]) -> Result<Result<OwnReply, Failure>, Stopped> {
        let running = running(&self.bench.parts);
        let [part] = &mut self.bench.parts[..] else { return Err(no_connection().into()) };
        let (killing, handle) = (session.killing(), session.handle.clone());
        let killer = killing.killer();
        let client = Some(&mut session.client);
        match attend(&handle, &running, &killer, client, part.lease.ask(text)).await? {
            Err(failure) if is_fatal(failure.code) => Err(failure_told(&handle, failure).into()),
            reply => Ok(reply),
        }
    }

    /// Asks the server whether the caller may run the procedure, and with the rights that it is to have.
    pub(super) async fn check_rights(&mut self, session: &mut Session) -> Result<(), Stopped> {
        const ER_SP_WRONG_NO_OF_ARGS: u16 = 1318;
        let plan = self.plan;
        // It is not run with a wrong number of arguments.
        let wrong = if plan.program.parameters.is_empty() { "(1)" } else { "()" };
        let name = [quoted_name(plan.database.as_bytes()), quoted_name(plan.name.as_bytes())].join(&b'.');
        match self.query(session, &[b"CALL ", &name[..], wrong.as_bytes()].concat()).await? {
            Err(failure) if failure.code == ER_SP_WRONG_NO_OF_ARGS => {}
            Err(failure) => return Err(failure.into()),
            Ok(_) => return Err(not_supported("The procedure is another one than Weir knows: try again").into()),
        }
        let weir_program::Security::Definer(definer) = &plan.program.security else { return Ok(()) };
        let reply = self.query(session, b"SELECT CURRENT_USER(), CURRENT_ROLE()").await??;
        let [Some(user), role] = reply.rows.first().map(Vec::as_slice).unwrap_or_default() else {
            return Err(no_connection().into());
        };
        let has_role = role.as_deref().is_some_and(|role| role != b"NONE" && !role.is_empty());
        if user != definer || has_role {
            let message = format!(
                "CALL of {}, which Weir would run statement by statement: it has the rights of its definer, which the session has not: make it with SQL SECURITY INVOKER",
                plan.name
            );
            return Err(not_supported(message).into());
        }
        Ok(())
    }

    /// Makes the table, with NULL in all columns.
    pub(super) async fn make(&mut self, session: &mut Session) -> Result<(), Stopped> {
        let collation = &self.plan.collation;
        let mut text = format!("CREATE TEMPORARY TABLE `{TABLE}` (`weir#` INT").into_bytes();
        for variable in self.plan.program.variables.iter().filter(|variable| variable.kind != Kind::Field) {
            text.extend(
                [b", ", &quoted_name(variable.column.as_bytes())[..], b" ", variable.data_type.as_bytes()].concat(),
            );
            if variable.kind == Kind::Text {
                text.extend(format!(" CHARACTER SET {} COLLATE {collation}", charset(collation)).into_bytes());
            }
            text.extend_from_slice(if variable.required { b" NOT NULL DEFAULT 0" } else { b" NULL" });
        }
        text.push(b')');
        let made = self.query(session, &text).await?;
        self.bench.parts.iter_mut().for_each(|part| part.lease.temporary_made += 1);
        match made {
            Ok(_) => {}
            Err(failure) if failure.code == codes::ER_DBACCESS_DENIED_ERROR => {
                let message = format!(
                    "{}; Weir keeps the variables of a procedure that it runs statement by statement in one: GRANT CREATE TEMPORARY TABLES on the database to the user",
                    failure.message
                );
                return Err(Failure { message, ..failure }.into());
            }
            Err(failure) => return Err(failure.into()),
        }
        self.query(session, format!("INSERT INTO `{TABLE}` (`weir#`) VALUES (1)").as_bytes()).await??;
        Ok(())
    }

    /// Drops the table: the connection may be used again. After a KILL, which may yet arrive there, it is closed.
    pub(super) async fn drop(mut self, session: &mut Session) {
        if ends_statement(&session.handle) {
            return;
        }
        let drop = format!("DROP TEMPORARY TABLE `{TABLE}`");
        let dropped = self.query(session, drop.as_bytes()).await;
        let clean = matches!(dropped, Ok(Ok(reply)) if !reply.status.intersects(StatusFlags::IN_TRANS));
        self.bench.parts.iter_mut().for_each(|part| part.lease.retired = !clean);
    }

    fn column(&self, variable: usize) -> Vec<u8> {
        quoted_name(self.plan.program.variables[variable].column.as_bytes())
    }

    fn columns(&self) -> Vec<Vec<u8>> {
        let kind = |variable: usize| self.plan.program.variables[variable].kind;
        let value = |variable: usize| self.values[variable].clone().unwrap_or_else(|| b"NULL".to_vec());
        let column = |variable| if kind(variable) == Kind::Field { value(variable) } else { self.column(variable) };
        (0..self.values.len()).map(column).collect()
    }

    /// A text of the body over the columns.
    pub(super) fn over_columns(&self, template: &Template) -> Vec<u8> {
        let columns = self.columns();
        template.render(|variable| &columns[variable])
    }

    /// Computes an expression, and gives variables its value.
    pub(super) async fn set(&mut self, session: &mut Session, variables: &[usize], value: &[u8]) -> Asked<()> {
        let assigned: Vec<Vec<u8>> =
            variables.iter().map(|variable| [&self.column(*variable)[..], b" = ", value].concat()).collect();
        let text = [format!("UPDATE `{TABLE}` SET ").as_bytes(), &assigned.join(&b", "[..]), b" LIMIT 1"].concat();
        variables.iter().for_each(|variable| self.values[*variable] = None);
        let asked = self.ask(session, &text).await?;
        Ok(asked.map(|(_, conditions)| ((), conditions)))
    }

    /// Gives variables these values, one after the other up to the first error.
    pub(super) async fn store(&mut self, session: &mut Session, variables: &[usize], values: &[Vec<u8>]) -> Asked<()> {
        let mut all = Vec::new();
        for (variable, value) in variables.iter().zip(values) {
            match self.set(session, &[*variable], value).await? {
                Ok(((), conditions)) => all.extend(conditions),
                Err(raised) => return Ok(Err(raised)),
            }
        }
        Ok(Ok(((), all)))
    }

    /// Gives the fields of a row the values of the columns of these names.
    pub(super) fn store_row(&mut self, fields: &[(String, usize)], names: &[String], values: Vec<Vec<u8>>) {
        for (field, variable) in fields {
            let place = names.iter().position(|name| name.to_lowercase() == *field);
            self.values[*variable] = place.and_then(|place| values.get(place)).cloned();
            let name = &self.plan.program.variables[*variable].name;
            match place {
                Some(_) => drop(self.missing.remove(variable)),
                None => {
                    let message = format!("Row variable does not have a field '{name}'");
                    self.missing
                        .insert(*variable, Raised::error(ER_ROW_VARIABLE_DOES_NOT_HAVE_FIELD, b"HY000", message));
                }
            }
        }
    }

    /// What computing a value for a variable has warned of, as the error that it is in strict mode.
    pub(super) fn error_of_strict_mode(&self, warned: &[Raised]) -> Option<Raised> {
        let strict =
            self.plan.sql_mode.contains("STRICT_TRANS_TABLES") || self.plan.sql_mode.contains("STRICT_ALL_TABLES");
        let is_error =
            |raised: &&Raised| raised.level == Level::Warning && ERRORS_OF_STRICT_MODE.contains(&raised.code);
        warned.iter().find(is_error).filter(|_| strict).map(|raised| Raised { level: Level::Error, ..raised.clone() })
    }

    /// What is raised if a text names a field that its row does not have.
    pub(super) fn without_field(&self, text: &Template) -> Option<Raised> {
        text.variables().find_map(|variable| self.missing.get(&variable)).cloned()
    }

    /// Rows for a loop.
    pub(super) fn fields(&self, session: &Session, table: &Table) -> Result<Rows, Failure> {
        let form = self.text_form(session);
        let collation = &self.plan.collation;
        table.fields(session.client.capabilities, |kind, cell| literal(kind, cell, collation, form))
    }

    /// Whether an expression over the columns is true.
    pub(super) async fn test(&mut self, session: &mut Session, condition: &[u8]) -> Asked<bool> {
        let text = [b"SELECT IF((", condition, format!("), 1, 0) FROM `{TABLE}`").as_bytes()].concat();
        let asked = self.ask(session, &text).await?;
        Ok(asked.map(|(reply, conditions)| (only_cell(&reply).is_some_and(|cell| cell == b"1"), conditions)))
    }

    /// A text that is computed over the columns.
    pub(super) async fn message(
        &mut self,
        session: &mut Session,
        value: &[u8],
    ) -> Result<Result<String, Raised>, Stopped> {
        // In hexadecimal: the client's character set may have other characters.
        let text = [b"SELECT HEX(CONVERT((", value, format!(") USING utf8mb4)) FROM `{TABLE}`").as_bytes()].concat();
        let asked = self.ask(session, &text).await?;
        let message = |reply: OwnReply| {
            let bytes = only_cell(&reply).and_then(|cell| unhex(std::str::from_utf8(cell).ok()?)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(asked.map(|(reply, _)| message(reply)))
    }

    /// The query of a statement without tables, over the columns.
    pub(super) fn select(&self, template: &Template) -> Vec<u8> {
        [&self.over_columns(template)[..], format!(" FROM `{TABLE}`").as_bytes()].concat()
    }

    /// The shard that it leads to.
    pub(super) fn home(&self) -> weir_catalog::ShardId {
        self.plan.home
    }

    /// The connection.
    pub(super) fn bench(&mut self) -> &mut StatementLeases {
        &mut self.bench
    }

    async fn ask(&mut self, session: &mut Session, text: &[u8]) -> Asked<OwnReply> {
        match self.query(session, text).await? {
            Err(failure) => Ok(Err(self.raised(session, &failure))),
            Ok(reply) if reply.warnings == 0 => Ok(Ok((reply, Vec::new()))),
            Ok(reply) => {
                let told = self.query(session, b"SHOW WARNINGS").await??;
                let conditions = told.rows.into_iter().filter_map(Condition::of_row);
                Ok(Ok((reply, conditions.map(|condition| self.condition(session, &condition)).collect())))
            }
        }
    }

    /// An error as a procedure's variable would raise it.
    fn raised(&self, session: &Session, failure: &Failure) -> Raised {
        Raised::error(failure.code, &failure.sqlstate, self.told(session, &failure.message))
    }

    fn condition(&self, session: &Session, condition: &Condition) -> Raised {
        let raised = raised_by(condition);
        Raised { message: self.told(session, &raised.message), ..raised }
    }

    /// A server's message about a column as the one about the variable.
    fn told(&self, session: &Session, message: &str) -> String {
        let mut message = message.to_owned();
        let renamed = |variable: &&Variable| variable.kind != Kind::Field && variable.column != variable.name;
        for variable in self.plan.program.variables.iter().filter(renamed) {
            for quote in ['\'', '`'] {
                let (from, to) =
                    (format!("{quote}{}{quote}", variable.column), format!("{quote}{}{quote}", variable.name));
                message = message.replace(&from, &to);
            }
        }
        message = message.replace(&format!("'{TABLE}."), "'.");
        if session.identity.mariadb {
            message = message.replace(&format!("`{}`.`{TABLE}`.", self.plan.database), "``.``.");
            if let Some(head) = message.strip_suffix("at row 1") {
                message = format!("{head}at row {}", self.row);
            }
        }
        message
    }

    /// A text of the body with the values of variables as literals.
    pub(super) async fn rendered(&mut self, session: &mut Session, template: &Template) -> Result<Vec<u8>, Stopped> {
        let wanted: Vec<usize> = template.variables().filter(|variable| self.values[*variable].is_none()).collect();
        let form = self.text_form(session);
        self.learn(session, &wanted, form).await?;
        let counts: Vec<usize> = template.counts().collect();
        Ok(template.render(|variable| {
            let value = self.values[variable].as_deref().unwrap_or(b"NULL");
            match counts.contains(&variable) {
                true => value.strip_prefix(b"(").and_then(|value| value.strip_suffix(b")")).unwrap_or(value),
                false => value,
            }
        }))
    }

    /// The value of a variable as a literal that has its collation in any settings.
    pub(super) async fn value(&mut self, session: &mut Session, variable: usize) -> Result<Vec<u8>, Stopped> {
        self.learn(session, &[variable], TextForm::Explicit).await?;
        Ok(self.values[variable].clone().unwrap_or_else(|| b"NULL".to_vec()))
    }

    /// How texts stand in statements of the body, whose settings these have.
    fn text_form(&self, session: &Session) -> TextForm {
        let collation = &self.plan.collation;
        if is_default(collation, session.identity.mariadb) {
            TextForm::OfCharset
        } else if *collation == self.plan.connection_collation {
            TextForm::OfConnection
        } else {
            TextForm::Explicit
        }
    }

    async fn learn(&mut self, session: &mut Session, wanted: &[usize], form: TextForm) -> Result<(), Stopped> {
        let kind = |variable: &usize| self.plan.program.variables[*variable].kind;
        let wanted: Vec<usize> = wanted.iter().copied().filter(|variable| kind(variable) != Kind::Field).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let asked: Vec<Vec<u8>> = wanted
            .iter()
            .map(|variable| match self.plan.program.variables[*variable].kind {
                Kind::Text | Kind::Binary => [b"HEX(", &self.column(*variable)[..], b")"].concat(),
                Kind::Json => [b"HEX(CAST(", &self.column(*variable)[..], b" AS CHAR CHARACTER SET utf8mb4))"].concat(),
                Kind::Bits => [b"BIN(", &self.column(*variable)[..], b" + 0)"].concat(),
                _ => self.column(*variable),
            })
            .collect();
        let text = [&b"SELECT "[..], &asked.join(&b','), format!(" FROM `{TABLE}`").as_bytes()].concat();
        let reply = self.query(session, &text).await??;
        for (variable, cell) in wanted.iter().zip(reply.rows.into_iter().flatten()) {
            let kind = self.plan.program.variables[*variable].kind;
            self.values[*variable] = Some(literal(kind, cell, &self.plan.collation, form));
        }
        Ok(())
    }
}

/// How a text has its variable's collation.
#[derive(Clone, Copy)]
enum TextForm {
    /// It is the default one of its character set. Implicitly, as a variable has it: where it meets a column of another collation, servers
    /// decide in the same way.
    OfCharset,
    /// It is that of the connection. Implicitly, too.
    OfConnection,
    /// By COLLATE, which prevails over a column's.
    Explicit,
}

/// A value as a literal of its type.
fn literal(kind: Kind, cell: Option<Vec<u8>>, collation: &str, form: TextForm) -> Vec<u8> {
    let Some(cell) = cell else { return b"NULL".to_vec() };
    let quoted = |word: &str| [word.as_bytes(), b"'", &cell[..], b"'"].concat();
    match kind {
        Kind::Integer | Kind::Decimal if cell.starts_with(b"-") => [b"(", &cell[..], b")"].concat(),
        Kind::Integer | Kind::Decimal => cell,
        Kind::Double if cell.contains(&b'e') => [b"(", &cell[..], b")"].concat(),
        Kind::Double => [b"(", &cell[..], b"e0)"].concat(),
        Kind::Field => cell,
        Kind::Binary => [b"CAST(", &quoted("_binary x")[..], b" AS BINARY)"].concat(),
        Kind::Bits => quoted("b"),
        Kind::Json => [b"CAST(", &quoted("_utf8mb4 x")[..], b" AS JSON)"].concat(),
        Kind::Date => quoted("DATE"),
        Kind::DateTime => quoted("TIMESTAMP"),
        Kind::Time => quoted("TIME"),
        Kind::Text => {
            let charset = charset(collation);
            let text = quoted(&format!("_{charset} x"));
            match form {
                TextForm::OfCharset => {
                    [b"CAST(", &text[..], b" AS CHAR CHARACTER SET ", charset.as_bytes(), b")"].concat()
                }
                TextForm::OfConnection => [b"CAST(", &text[..], b" AS CHAR)"].concat(),
                TextForm::Explicit => [b"(", &text[..], b" COLLATE ", collation.as_bytes(), b")"].concat(),
            }
        }
    }
}

fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

fn only_cell(reply: &OwnReply) -> Option<&[u8]> {
    reply.rows.first()?.first()?.as_deref()
}

/// A condition that SHOW WARNINGS tells, which does not tell its SQLSTATE.
pub(super) fn raised_by(condition: &Condition) -> Raised {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = text(&condition.code).parse().unwrap_or(0);
    let level = match &condition.level[..] {
        b"Error" => Level::Error,
        b"Warning" => Level::Warning,
        _ => Level::Note,
    };
    let state = condition.sqlstate.or(known_state(code)).unwrap_or(*b"HY000");
    Raised { level, code, state, message: text(&condition.message) }
}

/// The SQLSTATE of conditions that statements warn of most.
pub(super) fn known_state(code: u16) -> Option<[u8; 5]> {
    Some(match code {
        1329 => *b"02000",
        1261 | 1262 | 1265 | 1642 => *b"01000",
        1264 => *b"22003",
        1292 => *b"22007",
        1365 => *b"22012",
        1406 => *b"22001",
        1048 | 1062 => *b"23000",
        1364 | 1366 => *b"HY000",
        _ => return None,
    })
}

/// An error after which nothing of the body is run, whatever its handlers are for.
pub(super) fn is_fatal(code: u16) -> bool {
    matches!(code, codes::CR_SERVER_LOST | codes::ER_QUERY_INTERRUPTED | codes::ER_NOT_SUPPORTED_YET)
}

fn no_connection() -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, "a procedure was given no connection for its variables")
}
