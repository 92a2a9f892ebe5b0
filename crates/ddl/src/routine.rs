//! What servers say of stored procedures and functions.
//!
//! What must always hold: a routine counts as known only if all shards of its database say the same of it; what Weir's own account may
//! not see is not known.

use std::collections::BTreeMap;

use weir_catalog::{Object, Routine, RoutineKind, Routines, ShardId};
use weir_shards::ask::Row;
use weir_shards::own::{Own, name, quoted, text};
use weir_wire::{Failure, Fault};

/// What is asked of a shard about a routine.
pub(crate) fn question(object: &Object, kind: RoutineKind) -> String {
    let routine = object.name.as_deref().unwrap_or_default();
    format!("SHOW CREATE {} {}.{}", kind.word(), name(&object.database), name(routine))
}

/// What the answer says; `None`: it does not show the text.
pub(crate) fn answer(rows: &[Row]) -> Option<Routine> {
    let cell = |place: usize| String::from_utf8(rows.first()?.get(place)?.clone()?).ok();
    Some(Routine { sql_mode: cell(1)?, text: cell(2)?, collation: cell(4)?, database_collation: cell(5)? })
}

/// What several shards say, if it is the same.
pub(crate) fn agreed(answers: Vec<Option<Routine>>) -> Option<Routine> {
    let mut answers = answers.into_iter();
    let first = answers.next()??;
    answers.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// A shard that refuses to tell of a routine tells nothing; one that can't be asked is an error.
pub(crate) fn told(reply: Result<Vec<Row>, Failure>) -> Result<Option<Routine>, Failure> {
    match reply {
        Ok(rows) => Ok(answer(&rows)),
        Err(failure) if failure.fault == Fault::Server && !(2000..3000).contains(&failure.code) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The routines of a database that are the same on all of these shards.
///
/// # Errors
/// The servers'.
pub async fn routines(own: &Own, shards: &[ShardId], database: &str) -> Result<Routines, Failure> {
    let mut seen: BTreeMap<(RoutineKind, String), Vec<Option<Routine>>> = BTreeMap::new();
    for shard in shards {
        let sql = format!(
            "SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {}",
            quoted(database)
        );
        for row in own.run(*shard, sql).await?.rows {
            let kind = match text(row.first()).as_str() {
                "PROCEDURE" => RoutineKind::Procedure,
                "FUNCTION" => RoutineKind::Function,
                _ => continue,
            };
            let object = Object::within(database, text(row.get(1)));
            let reply = own.run(*shard, question(&object, kind)).await.map(|reply| reply.rows);
            seen.entry((kind, object.name.unwrap_or_default())).or_default().push(told(reply)?);
        }
    }
    let mut known = Routines::default();
    for ((kind, name), answers) in seen {
        if answers.len() == shards.len()
            && let Some(routine) = agreed(answers)
        {
            known.put(kind, &name, Some(routine));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_shards_tell_alike_is_known() {
        let row = |body: Option<&str>| -> Vec<Row> {
            let cells = [Some("p"), Some(""), body, Some("utf8mb4"), Some("utf8mb4_bin"), Some("latin1_bin")];
            vec![cells.iter().map(|cell| cell.map(|cell| cell.as_bytes().to_vec())).collect()]
        };
        let one = answer(&row(Some("CREATE …"))).expect("it is shown");
        assert_eq!((one.text.as_str(), one.database_collation.as_str()), ("CREATE …", "latin1_bin"));
        assert_eq!(answer(&row(None)), None);
        assert_eq!(agreed(vec![Some(one.clone()), Some(one.clone())]), Some(one.clone()));
        assert_eq!(agreed(vec![Some(one.clone()), None]), None);
        assert_eq!(agreed(vec![Some(one), answer(&row(Some("other")))]), None);
        assert_eq!(agreed(Vec::new()), None);
    }
}
