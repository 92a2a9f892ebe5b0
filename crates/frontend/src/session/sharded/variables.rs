//! Values that are on the session's connection, for statements that run on others: user variables and LAST_INSERT_ID().
//!
//! What must always hold: a variable that a plan takes for known has that value on every connection that the statement runs on. What
//! was assigned out of sight (by a routine, say) is read anew for each statement.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::future::join_all;
use weir_backend::profile::user_variable_bytes;
use weir_exec::{MultiShardResult, ShardLease, values, variables};
use weir_plan::LoadFile;
use weir_sql::visit::{Flow, NameRole, Node, walk};
use weir_sql::{Class, Effects, LexMode, Lexer, Pins, TokenKind};
use weir_wire::Failure;

use super::super::Session;
use super::super::latest::Left;
use super::super::state::OUT_OF_SIGHT;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::super::transaction::StatementLeases;
use super::super::transaction::lease::confirm;
use crate::backends::shard_id;

impl Session {
    /// A statement was run: the variables that it may have assigned are on its connection.
    pub(in super::super) fn note_assigned(&mut self, statement: &Statement<'_>) {
        if statement.class.pins.contains(Pins::COMPUTED_USER_VARIABLE) {
            self.note_assigned_in(statement.text);
            if self.endpoint.sharding.is_some() {
                let of_body = self.variables_of_call(statement);
                self.state.assigned.extend(of_body);
            }
        }
    }

    /// All variables of a text count as assigned: to read one too many does no harm.
    pub(in super::super) fn note_assigned_in(&mut self, text: &[u8]) {
        if self.endpoint.sharding.is_some() {
            self.state.assigned.extend(variables_of(text, self.state.lex));
        }
    }

    /// Whether a statement may need what has to be read from the session's connection first.
    pub(super) fn lacks_values_for(&self, asked: &Statement<'_>) -> bool {
        let asks_id = asked.class.effects.contains(Effects::USES_LAST_INSERT_ID);
        let computed = self.state.pins.contains(Pins::COMPUTED_USER_VARIABLE);
        self.current.lease.is_some() && (asks_id && self.state.latest.last_insert_id == Left::OnConnection || computed)
    }

    /// Before a statement that may run elsewhere: what it needs of the session's connection is read from there.
    pub(super) async fn learn_values_for(&mut self, asked: &Statement<'_>) -> Result<(), Stopped> {
        if !self.lacks_values_for(asked) {
            return Ok(());
        }
        let asks_id = asked.class.effects.contains(Effects::USES_LAST_INSERT_ID);
        if asks_id && self.state.latest.last_insert_id == Left::OnConnection {
            self.learn_values_left().await?;
        }
        if self.state.pins.contains(Pins::COMPUTED_USER_VARIABLE) && self.names_tables(asked) {
            let of_body = self.variables_of_call(asked);
            self.learn_user_variables(asked.text, of_body).await?;
        }
        Ok(())
    }

    fn names_tables(&self, asked: &Statement<'_>) -> bool {
        let Ok(parsed) = asked.parsed() else { return false };
        // A function that is built in reads no tables. Those whose bodies are known have left no pin in the statement's class.
        let read = self.shared.read(asked.text, self.state.lex);
        let routines = read.class.pins.intersects(Pins::CALL | Pins::UNKNOWN_FUNCTION);
        let mut found = false;
        for statement in parsed.statements {
            walk(Node::Statement(statement), &mut |node: Node<'_>| {
                found |= matches!(node, Node::Name(_, role) if routines || role != NameRole::Routine);
                if found { Flow::Stop } else { Flow::Descend }
            });
        }
        found
    }

    /// `others`: variables that the statement may read besides those of its text.
    pub(in crate::session) async fn learn_user_variables(
        &mut self,
        text: &[u8],
        others: BTreeSet<String>,
    ) -> Result<(), Stopped> {
        if self.state.assigned_unseen {
            self.learn_names_of_variables().await?;
        }
        let opaque = self.state.assigned_unseen || self.state.pins.intersects(OUT_OF_SIGHT);
        let named: BTreeSet<String> = variables_of(text, self.state.lex).chain(others).collect();
        let names: Vec<String> = match opaque {
            true => named.iter().cloned().collect(),
            false => self.state.assigned.iter().cloned().collect(),
        };
        let mut left = BTreeSet::new();
        if !names.is_empty() {
            self.learn_values_left().await?;
            left = self.learn_variables(&names).await?;
        }
        self.state.kept.extend(left);
        if !opaque {
            self.state.assigned.clear();
            if self.state.kept.is_empty() {
                self.state.pins -= Pins::COMPUTED_USER_VARIABLE;
            }
        }
        let kept = &self.state.kept;
        let needed = kept.iter().find(|name| named.contains(*name));
        needed.map_or(Ok(()), |name| Err(variables::stays(name).into()))
    }

    /// What was assigned out of sight is among the variables that there are, where the server tells their names.
    async fn learn_names_of_variables(&mut self) -> Result<(), Stopped> {
        if !self.identity.mariadb || self.current.lease.is_none() {
            return Ok(());
        }
        self.learn_values_left().await?;
        self.hear_untold().await?;
        let lease = self.connection();
        lease.has_found_rows = false;
        // A temporary table of a trigger can't be asked for, but whether one was made on the connection out of sight can.
        let made = lease.temporary_made;
        let list = format!(
            "SELECT CAST(VARIABLE_NAME AS BINARY) FROM information_schema.USER_VARIABLES UNION ALL \
             SELECT '`' FROM information_schema.SESSION_STATUS \
             WHERE VARIABLE_NAME = 'COM_CREATE_TEMPORARY_TABLE' AND VARIABLE_VALUE <> '{made}' LIMIT 18446744073709551615"
        );
        let Ok(reply) = lease.ask(&list).await else { return Ok(()) };
        let name = |cell: Option<Vec<u8>>| {
            let name = String::from_utf8(cell?).ok()?;
            (!name.contains(['`', '\'', '"', '\\'])).then(|| name.to_lowercase())
        };
        if let Some(names) = reply.rows.into_iter().flatten().map(name).collect::<Option<BTreeSet<_>>>() {
            self.state.assigned.extend(names);
            self.state.assigned_unseen = false;
        }
        Ok(())
    }

    /// As [`Session::learn_variables`].
    ///
    /// # Errors
    /// Also when one is too long to be taken.
    pub(in crate::session) async fn learn_variables_named(&mut self, names: &[String]) -> Result<(), Stopped> {
        let left = self.learn_variables(names).await?;
        left.first().map_or(Ok(()), |name| Err(variables::stays(name).into()))
    }

    /// Takes the values that variables have on the session's connection into the profile. Returns those that are too long, or too many,
    /// to be sent to other connections: they stay where they are.
    async fn learn_variables(&mut self, names: &[String]) -> Result<BTreeSet<String>, Stopped> {
        let literals = self.read_user_variables(names).await?;
        let mut left = BTreeSet::new();
        let mut known = Vec::new();
        // Those that are known already count too: a value that takes another's place counts twice, which is not much.
        let mut room = values::MOST_LITERALS.saturating_sub(self.state.profile.user_variable_bytes());
        for (name, literal) in names.iter().zip(&literals) {
            let taken = |literal: &str| user_variable_bytes(name, literal);
            match literal.as_deref().filter(|literal| taken(literal) <= room) {
                Some(literal) => {
                    room -= taken(literal);
                    self.state.kept.remove(name);
                    known.push((name.as_str(), literal));
                }
                None => drop(left.insert(name.clone())),
            }
        }
        let profile = Rc::new(self.state.profile.with_user_variables(known));
        self.state.profile = profile.clone();
        self.connection().set_profile(profile);
        Ok(left)
    }

    async fn read_user_variables(&mut self, names: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let Some(lease) = self.current.lease.take() else { return Ok(Vec::new()) };
        let mut part =
            ShardLease { shard: shard_id(self.current.server.shard), index: self.current.server.index, lease };
        let read = variables::values(&mut part, names, &self.shared.collations).await;
        self.current.lease = Some(part.lease);
        if let Some(lease) = &mut self.current.lease {
            lease.has_found_rows = false;
        }
        read
    }

    /// A file's fields were loaded into user variables: those of the last line become the session's. Connections that have others are
    /// brought up to date before anything else runs there.
    pub(super) async fn take_variables(
        &mut self,
        file: &LoadFile,
        outcome: &MultiShardResult,
        parts: &mut [ShardLease],
    ) -> Result<(), Failure> {
        if file.variables.is_empty() {
            return Ok(());
        }
        self.forget_values(&file.variables, parts);
        let latest = outcome.assigned_on.filter(|_| outcome.error.is_none());
        match parts.iter_mut().find(|part| Some(part.shard) == latest) {
            Some(part) => self.take_values(&file.variables, part).await,
            None => Ok(()),
        }
    }

    /// A statement was run on a connection of its own: the variables that it may have assigned are the session's.
    ///
    /// # Errors
    /// A value is too long to be brought to other connections; the loss of the connection.
    pub(super) async fn take_assigned(
        &mut self,
        statement: &Statement<'_>,
        part: &mut ShardLease,
    ) -> Result<(), Failure> {
        let names: BTreeSet<String> = variables_of(statement.text, self.state.lex).collect();
        let names: Vec<String> = names.into_iter().collect();
        self.forget_values(&names, std::slice::from_mut(part));
        self.take_values(&names, part).await
    }

    /// Variables have other values on some connections than the session knows.
    fn forget_values(&mut self, variables: &[String], parts: &mut [ShardLease]) {
        /// No variable's value.
        const UNKNOWN: &str = "";
        let names = || variables.iter().map(String::as_str);
        for part in parts.iter_mut() {
            let unknown = part.lease.profile().with_user_variables(names().map(|name| (name, UNKNOWN)));
            part.lease.set_profile(Rc::new(unknown));
        }
        // A variable that is not there is NULL, too; a connection that has others' variables would be reset.
        let profile = &self.state.profile;
        let missing = names().filter(|name| profile.user_variable(name).is_none()).map(|name| (name, "NULL"));
        self.state.profile = Rc::new(profile.with_user_variables(missing));
    }

    async fn take_values(&mut self, variables: &[String], part: &mut ShardLease) -> Result<(), Failure> {
        let literals = variables::values(part, variables, &self.shared.collations).await?;
        let names = variables.iter().map(String::as_str);
        let known: Option<Vec<_>> = names.zip(&literals).map(|(name, value)| Some((name, value.as_deref()?))).collect();
        let known = known.ok_or_else(|| variables::stays(&variables.join(", @")))?;
        self.state.profile = Rc::new(self.state.profile.with_user_variables(known));
        Ok(())
    }

    /// Makes the connections of a statement give the same values: of the session, and of the time if it reads that.
    pub(super) async fn make_alike(
        &self,
        class: &Class,
        timed: bool,
        leased: &mut StatementLeases,
    ) -> Result<(), Failure> {
        self.hand_over(class, &mut leased.parts).await?;
        if timed && leased.parts.len() > 1 && self.state.profile.variable("timestamp").is_none() {
            confirm_all(&mut leased.parts).await?;
            leased.stop_clocks().await?;
        }
        Ok(())
    }

    /// Brings what a statement reads of its session's values to other connections.
    async fn hand_over(&self, class: &Class, parts: &mut [ShardLease]) -> Result<(), Failure> {
        let Left::Known(id) = self.state.latest.last_insert_id else { return Ok(()) };
        if !class.effects.contains(Effects::USES_LAST_INSERT_ID) {
            return Ok(());
        }
        parts.iter_mut().for_each(|part| part.lease.queue_insert_id(id));
        confirm_all(parts).await
    }
}

/// Has what is queued for the state of connections confirmed, on all of them at the same time.
async fn confirm_all(parts: &mut [ShardLease]) -> Result<(), Failure> {
    join_all(parts.iter_mut().map(|part| confirm(&mut part.lease))).await.into_iter().collect()
}

/// The names of a text's user variables, in lower case. One with an escaped quote is left out: it stays unknown.
fn variables_of(text: &[u8], lex: LexMode) -> impl Iterator<Item = String> {
    Lexer::new(text, lex).filter(|token| token.kind == TokenKind::UserVariable).filter_map(|token| {
        let name = std::str::from_utf8(token.text(text)).ok()?.strip_prefix('@')?;
        let quote = name.chars().next().filter(|c| matches!(c, '`' | '\'' | '"'));
        let name = match quote {
            Some(quote) => name.strip_prefix(quote)?.strip_suffix(quote)?,
            None => name,
        };
        (!name.contains(['`', '\'', '"', '\\'])).then(|| name.to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_by_their_names() {
        let text = b"SELECT @A, @`b c` := @'d', @@sql_mode, '@no', @e.f -- @g\nFROM t WHERE x = @h";
        let names: Vec<String> = variables_of(text, LexMode::default()).collect();
        assert_eq!(names, ["a", "b c", "d", "e.f", "h"]);
    }
}
