//! Sends a read to all of its shards at once.
//!
//! What must always hold: what is queued on a connection goes out whole, or the connection is retired. A connection that has not prepared
//! the statement prepares it first, under the settings that its text was prepared with, and then gets the session's settings back.

use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use weir_backend::prepared::{Execution, StatementKey};
use weir_backend::profile::SharedProfile;
use weir_plan::Read;
use weir_wire::stmt::{Execute, Picked, has_untyped, query_payload};
use weir_wire::{Capabilities, Failure};

use super::failure::internal;
use super::row::Format;
use crate::{Request, SQL_PREPARED, ShardLease};

/// Sends what the plan says to all parts. Returns the format of the rows that will come.
///
/// # Errors
/// The loss of a connection; a server's refusal to prepare the text.
pub(super) async fn send(parts: &mut [&mut ShardLease], read: &Read, request: &Request<'_>) -> Result<Format, Failure> {
    let format = match request {
        Request::Text => {
            for part in parts.iter_mut() {
                let payload = query_payload(&read.text, part.lease.capabilities);
                part.lease.queue(&payload, true);
            }
            Format::Text
        }
        Request::SqlPrepared { variables, backslashes } => {
            queue_named(parts, read, variables, *backslashes).await?;
            Format::Text
        }
        Request::Execute { parsing, execute, types, session } => {
            let key = Rc::new(StatementKey::new(read.text.as_slice().into(), (*parsing).clone()));
            let (types, session) = (*types, *session);
            let attributes = |part: &&mut ShardLease| part.lease.capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
            let named = parts.first().is_some_and(attributes);
            let picked = pick(read, execute, types, named)?;
            let own = picked.as_ref().map(|picked| (picked.execute(), &picked.types));
            let (execute, types) = own.as_ref().map_or((*execute, types), |(execute, types)| (execute, Some(*types)));
            let untyped = types.is_some_and(|types| has_untyped(types, named));
            let execution =
                Execution { key: &key, execute, types, untyped, session, since: Instant::now(), retypes: false };
            queue_executions(parts, &execution, parsing).await?;
            Format::Binary
        }
    };
    flush(parts.iter_mut().map(|part| &mut **part)).await?;
    Ok(format)
}

/// Has all parts prepare the text, and queues its execution with the variables that it has as parameters.
async fn queue_named(
    parts: &mut [&mut ShardLease],
    read: &Read,
    variables: &[String],
    backslashes: bool,
) -> Result<(), Failure> {
    let names: Option<Vec<&str>> =
        read.parameters.iter().map(|place| variables.get(*place as usize).map(String::as_str)).collect();
    let names = names.ok_or_else(|| internal("a parameter has no variable"))?;
    confirm(parts).await?;
    let prepare = SQL_PREPARED.prepare(&read.text, backslashes);
    let execute = SQL_PREPARED.execute(names);
    for part in parts {
        part.lease.query(&prepare).await?;
        let payload = query_payload(&execute, part.lease.capabilities);
        part.lease.queue(&payload, true);
    }
    Ok(())
}

/// The execution with the parameters that the text has, if they are not just the client's.
fn pick(read: &Read, execute: &Execute<'_>, types: Option<&Rc<[u8]>>, named: bool) -> Result<Option<Picked>, Failure> {
    let same = read.parameters.iter().copied().eq(0..read.parameters.len() as u32);
    if same && read.parameters.len() as u64 == execute.params {
        return Ok(None);
    }
    let types = types.map_or(&[][..], |types| &types[..]);
    execute.pick(&read.parameters, types, named).map(Some).map_err(|error| internal(&error.to_string()))
}

async fn queue_executions(
    parts: &mut [&mut ShardLease],
    execution: &Execution<'_>,
    parsing: &SharedProfile,
) -> Result<(), Failure> {
    for part in parts.iter_mut() {
        let mariadb = part.lease.is_mariadb();
        part.lease.close_if_unfit(execution, mariadb);
    }
    let all = parts.iter_mut().map(|part| &mut **part);
    let mut lacking: Vec<&mut ShardLease> = all.filter(|part| !part.lease.statements.contains(execution.key)).collect();
    if !lacking.is_empty() {
        prepare(&mut lacking, execution.key, parsing).await?;
    }
    let mut payload = Vec::new();
    for part in parts.iter_mut() {
        let Some(prepared) = part.lease.statements.get(execution.key) else {
            return Err(internal("a statement that was just prepared is not there"));
        };
        let id = prepared.id;
        payload.clear();
        part.lease.encode_execution(execution, id, &mut payload);
        part.lease.queue(&payload, true);
    }
    Ok(())
}

/// Prepares a statement on connections that lack it, on all of them at once.
async fn prepare(
    parts: &mut [&mut ShardLease],
    key: &Rc<StatementKey>,
    parsing: &SharedProfile,
) -> Result<(), Failure> {
    // First what is queued for the session's state, then the settings that the text was prepared with.
    confirm(parts).await?;
    let before: Vec<SharedProfile> = parts.iter().map(|part| part.lease.profile().clone()).collect();
    for (part, before) in parts.iter_mut().zip(&before) {
        let tracking = part.lease.tracks();
        part.lease.queue_state(&Rc::new(before.parsed_as(parsing)), tracking)?;
    }
    confirm(parts).await?;
    for part in parts.iter_mut() {
        part.lease.queue_prepare(&key.text);
    }
    flush(parts.iter_mut().map(|part| &mut **part)).await?;
    let mut failed = None;
    for part in parts.iter_mut() {
        // Each answer is read, also behind one that is an error.
        match part.lease.prepared().await {
            Ok(prepared) => part.lease.remember(key.clone(), prepared),
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    // Confirmed with the execution's reply.
    for (part, before) in parts.iter_mut().zip(&before) {
        let tracking = part.lease.tracks();
        part.lease.queue_state(before, tracking)?;
    }
    match failed {
        None => Ok(()),
        Some(failure) => {
            confirm(parts).await?;
            Err(failure)
        }
    }
}

/// Sends what is queued for the state, and awaits that the servers have taken it.
async fn confirm(parts: &mut [&mut ShardLease]) -> Result<(), Failure> {
    flush(parts.iter_mut().map(|part| &mut **part)).await?;
    for part in parts.iter_mut() {
        part.lease.confirm_state().await?;
    }
    Ok(())
}

/// Sends what is queued on all connections, on each as fast as it takes it.
pub(super) async fn flush<'p>(parts: impl Iterator<Item = &'p mut ShardLease>) -> Result<(), Failure> {
    let mut parts: Vec<&mut ShardLease> = parts.collect();
    std::future::poll_fn(|cx| {
        let mut left = false;
        for part in &mut parts {
            match part.lease.poll_send(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    part.lease.retired = true;
                    return Poll::Ready(Err(part.lease.lost(&error)));
                }
                Poll::Pending => left = true,
            }
        }
        if left { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await
}
