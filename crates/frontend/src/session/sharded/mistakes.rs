//! What is wrong with a statement that Weir can't run over shards: a server knows its own errors best.
//!
//! What must always hold: a server is asked only about a statement that Weir does not run, or that has found nothing to write, and only
//! what changes and reads no rows ([`super::questions`]). In a transaction that is the transaction's own connection. Its answer counts only
//! where it has all that the statement names, as one server would.

use std::sync::Arc;

use weir_backend::Lease;
use weir_catalog::{Catalog, Placement, ShardId};
use weir_plan::views;
use weir_shards::Sharding;
use weir_shards::ask::ask;
use weir_sql::ast::StatementKind;
use weir_sql::resolve::{Context, resolve};
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

use super::super::Session;
use super::super::statement::{Form, Statement};
use super::super::stopped::Stopped;
use super::questions::{Judged, Question, questions};
use crate::backends::{HOME, place, shard_id};

/// A longer text is refused for what Weir knows of it.
const LONGEST: usize = 1 << 20;

/// CALL with another number of arguments than the procedure has parameters.
const ER_SP_WRONG_NO_OF_ARGS: u16 = 1318;

/// Weir's own errors before which servers have others: what it can't do, and what it finds wrong while it looks where rows are.
const BY_WEIR: [u16; 10] = [
    codes::ER_NOT_SUPPORTED_YET,
    codes::ER_NO_SUCH_TABLE,
    ER_SP_WRONG_NO_OF_ARGS,
    codes::ER_WRONG_VALUE_COUNT_ON_ROW,
    codes::ER_UPDATE_TABLE_USED,
    codes::ER_BAD_NULL_ERROR,
    // Whoever has no right to a table must hear neither of it nor of its columns.
    codes::ER_BAD_FIELD_ERROR,
    codes::ER_TABLE_EXISTS_ERROR,
    codes::ER_WRONG_USAGE,
    codes::ER_VIEW_PREVENT_UPDATE,
];

/// Errors of rights to databases and tables. That there is no default database is said by a shard that has not let the session into its own.
pub(super) const OF_RIGHTS: [u16; 4] = [
    codes::ER_NO_DB_ERROR,
    codes::ER_DBACCESS_DENIED_ERROR,
    codes::ER_TABLEACCESS_DENIED_ERROR,
    codes::ER_COLUMNACCESS_DENIED_ERROR,
];

/// An expression of a query of groups that its keys do not determine, which the error names by its number: shards' texts have others.
const ER_WRONG_FIELD_WITH_GROUP: u16 = 1055;

/// Whether what a shard says of its part of a statement may differ from what a server says of all of it. What it can't read is shown from the
/// place on that it has stopped at.
pub(super) fn is_of_part(code: u16) -> bool {
    OF_RIGHTS.contains(&code) || matches!(code, ER_WRONG_FIELD_WITH_GROUP | codes::ER_PARSE_ERROR)
}

/// What has no SQLSTATE of its own, and is about the statement all the same.
const OF_STATEMENTS: [u16; 18] = [
    1093, // a table that is changed and read
    1111, // a group function where none can be
    1193, // a system variable
    1210, // arguments
    1221, // clauses that don't go together
    1267, 1270, 1271, // collations that don't go together
    1288, 1348, 1393, 1394, 1443, 1471, // what can't be changed, or be changed through a view
    1356, // a view of what is not there
    3105, // a value for a generated column
    3593, 4015, // a window function where none can be
];

impl Session {
    /// A statement was refused by Weir. If a server finds it wrong, that is what the client is told.
    pub(super) async fn or_its_mistake(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        refused: Stopped,
    ) -> Stopped {
        // An error of rights may be that of a part of the statement, which looks for others than all of it does.
        let of_part = matches!(&refused, Stopped::Refused(failure) if is_of_part(failure.code));
        let by_weir = matches!(&refused, Stopped::Refused(failure)
            if failure.fault == Fault::Client && BY_WEIR.contains(&failure.code));
        if !of_part && !by_weir {
            return refused;
        }
        let unsupported = |stopped: &Stopped| matches!(stopped, Stopped::Refused(failure) if failure.code == codes::ER_NOT_SUPPORTED_YET);
        match self.mistake_in(sharding, asked).await {
            // What is wrong with a CALL is told as servers tell it, whoever may see the definition.
            Ok(Some(mistake)) if mistake.code == codes::ER_NOT_SUPPORTED_YET && !unsupported(&refused) => refused,
            Ok(Some(mistake)) => Stopped::Refused(mistake),
            Ok(None) => refused,
            Err(ended) => ended,
        }
    }

    /// What a server finds wrong with a statement, if one can be asked.
    ///
    /// # Errors
    /// The session's end.
    pub(super) async fn mistake_in(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
    ) -> Result<Option<Failure>, Stopped> {
        let questions = match self.may_ask(asked) {
            true => questions(asked, !self.state.in_transaction()),
            false => Vec::new(),
        };
        if questions.is_empty() {
            return Ok(None);
        }
        let Some(shard) = self.shard_that_knows(&sharding.catalog(), asked) else { return Ok(None) };
        match self.told_by(shard, &questions).await {
            Err(ended @ Stopped::Ended(_)) => Err(ended),
            Err(_) => Ok(None),
            Ok(told) => Ok(told),
        }
    }

    /// What a shard's answers to questions say of a statement.
    ///
    /// # Errors
    /// It can't be asked.
    pub(super) async fn told_by(&mut self, shard: ShardId, questions: &[Question]) -> Result<Option<Failure>, Stopped> {
        let shards = [place(shard)];
        // Another connection could wait for a definition that waits for this transaction.
        let mut leased = match self.state.in_transaction() {
            true => Box::pin(self.leases_for(&shards, false)).await?,
            false => self.leases_outside(&shards).await?,
        };
        let told = match leased.parts.first_mut() {
            Some(part) => mistake_told(&mut part.lease, questions).await,
            None => None,
        };
        self.end_leases(leased, None).await?;
        Ok(told)
    }

    /// Whether a server's answer is not another one for what the session has open.
    fn may_ask(&self, asked: &Statement<'_>) -> bool {
        let apart = !self.has_table_locks() && self.state.temporary.is_empty();
        apart && !matches!(asked.form, Form::Resolved) && asked.text.len() <= LONGEST
    }

    /// A shard that has all tables of a statement, or their parts. Databases that are not sharded are on the first one.
    pub(super) fn shard_that_knows(&self, catalog: &Catalog, asked: &Statement<'_>) -> Option<ShardId> {
        let context = Context {
            database: self.state.profile.database.as_deref(),
            dialect: self.state.lex.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        let home = shard_id(HOME);
        let mut common: Option<Vec<ShardId>> = None;
        for (_, table) in resolve(asked.only()?, &context).tables() {
            let Some(database) = table.database else { continue };
            let has = has_table(catalog, database, table.name).unwrap_or_else(|| vec![home]);
            match &mut common {
                None => common = Some(has),
                Some(common) => common.retain(|shard| has.contains(shard)),
            }
        }
        let common = common.or_else(|| shards_of_program(catalog, &context, asked))?;
        let within = self.state.in_transaction().then(|| self.home());
        within.into_iter().chain([home]).find(|shard| common.contains(shard)).or(common.first().copied())
    }
}

/// The shards of the database whose procedure a statement calls, or where it makes a routine or an event; any shard knows the rights to FLUSH.
fn shards_of_program(catalog: &Catalog, context: &Context<'_>, asked: &Statement<'_>) -> Option<Vec<ShardId>> {
    let name = match asked.only()?.kind {
        StatementKind::Call(call) => &call.name,
        StatementKind::CreateRoutine(create) => &create.name,
        StatementKind::CreateEvent(create) => &create.name,
        StatementKind::Flush(_) => return Some(vec![shard_id(HOME)]),
        _ => return None,
    };
    let database = name.database.map_or(context.database, |database| Some(database.name))?;
    Some(catalog.database(database).map_or_else(|| vec![shard_id(HOME)], |(_, known)| known.shards.clone()))
}

/// The shards that know a table of a sharded database, or that there is none.
fn has_table(catalog: &Catalog, database: &[u8], name: &[u8]) -> Option<Vec<ShardId>> {
    let (database, known) = catalog.database(database)?;
    if let Some((_, table)) = catalog.table(database.as_bytes(), name) {
        return Some(match table.placement {
            Placement::Single(shard) => vec![shard],
            _ => known.shards.clone(),
        });
    }
    let views = std::str::from_utf8(name).map(|view| views::shards(catalog, database, view)).unwrap_or_default();
    Some(if views.is_empty() { known.shards.clone() } else { views })
}

/// What a server finds wrong with a statement.
async fn mistake_told(lease: &mut Lease, questions: &[Question]) -> Option<Failure> {
    for question in questions {
        match question.judge(ask(lease, &question.text).await) {
            Judged::Told(failure) => return Some(failure),
            Judged::Next => {}
            Judged::Stop => return None,
        }
    }
    None
}

/// Whether a server has found the statement wrong, not its own state.
pub(super) fn is_about_statement(failure: &Failure) -> bool {
    let refused = [codes::ER_NOT_SUPPORTED_YET, codes::ER_UNSUPPORTED_PS];
    let class = &failure.sqlstate[..2];
    !refused.contains(&failure.code)
        && (matches!(class, b"21" | b"23" | b"3D" | b"42") || OF_STATEMENTS.contains(&failure.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_the_statement_is_told() {
        let told = |code, sqlstate: &[u8; 5]| {
            is_about_statement(&Failure { sqlstate: *sqlstate, ..Failure::client(code, "") })
        };
        assert!(told(1305, b"42000") && told(1146, b"42S02") && told(1052, b"23000") && told(1136, b"21S01"));
        assert!(told(1288, b"HY000"));
        for (code, sqlstate) in
            [(1235, b"42000"), (1295, b"HY000"), (1205, b"HY000"), (1317, b"70100"), (1213, b"40001")]
        {
            assert!(!told(code, sqlstate), "{code}");
        }
    }
}
