//! Rights on single tables, views and routines: they go where these come to.
//!
//! What must always hold: an account has the same rights on an object wherever it is in use. What another placement has left of rights
//! that were revoked since does not come back with the object.

use std::collections::{BTreeMap, BTreeSet};

use weir_catalog::ShardId;
use weir_shards::Sharding;
use weir_shards::own::{name, quoted, text};
use weir_wire::{Failure, Fault};

/// An object as GRANT names it: `` `d`.`t` ``, `` PROCEDURE `d`.`p` ``.
pub(crate) fn object(database: &str, own: &str) -> String {
    format!("{}.{}", name(database), name(own))
}

/// Who has rights of his own on objects of a database, by a server's tables of accounts: user and host.
async fn accounts(sharding: &Sharding, shard: ShardId, database: &str) -> Result<BTreeSet<(String, String)>, Failure> {
    let of = |table: &str| format!("SELECT User, Host FROM mysql.{table} WHERE Db = {}", quoted(database));
    let sql = ["tables_priv", "columns_priv", "procs_priv"].map(of).join(" UNION ");
    let reply = sharding.own.run(shard, sql).await?;
    Ok(reply.rows.iter().map(|row| (text(row.first()), text(row.get(1)))).collect())
}

/// The statements that give what accounts have on these objects: by object and account.
type Given = BTreeMap<(String, String), Vec<String>>;

async fn given(
    sharding: &Sharding,
    shard: ShardId,
    database: &str,
    objects: &BTreeSet<String>,
) -> Result<Given, Failure> {
    let mut all = Given::new();
    for (user, host) in accounts(sharding, shard, database).await? {
        // Servers give who makes a routine the right to run it (`automatic_sp_privileges`).
        if user == sharding.own.user() {
            continue;
        }
        // Roles of MariaDB have no host.
        let account = if host.is_empty() { name(&user) } else { format!("{}@{}", name(&user), name(&host)) };
        for row in sharding.own.run(shard, format!("SHOW GRANTS FOR {account}")).await?.rows {
            let line = text(row.first());
            // The account comes last, whatever the object is called.
            let object = objects.iter().find(|object| line.contains(&format!(" ON {object} TO {}", name(&user))));
            if let Some(object) = object {
                all.entry((object.clone(), account.clone())).or_default().push(line);
            }
        }
    }
    Ok(all)
}

/// Whether anybody has rights on one of these objects, on a shard where they are or on one where they come to.
///
/// # Errors
/// The servers'.
pub(crate) async fn any(
    sharding: &Sharding,
    shards: [ShardId; 2],
    database: &str,
    objects: &BTreeSet<String>,
) -> Result<bool, Failure> {
    for shard in shards {
        if !objects.is_empty() && !given(sharding, shard, database, objects).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives accounts on a shard what they have on another one, and no more. The objects are there.
///
/// # Errors
/// The server's, with what to do if Weir's own account may not give it.
pub(crate) async fn carry(
    sharding: &Sharding,
    (from, to): (ShardId, ShardId),
    database: &str,
    objects: &BTreeSet<String>,
) -> Result<(), Failure> {
    if objects.is_empty() {
        return Ok(());
    }
    let wanted = given(sharding, from, database, objects).await?;
    let there = given(sharding, to, database, objects).await?;
    let nothing = Vec::new();
    let keys: BTreeSet<_> = wanted.keys().chain(there.keys()).collect();
    for key in keys {
        let (wanted, there) = (wanted.get(key).unwrap_or(&nothing), there.get(key).unwrap_or(&nothing));
        if wanted == there {
            continue;
        }
        let (object, account) = key;
        let mut statements = Vec::new();
        if !there.is_empty() {
            statements.push(format!("REVOKE ALL PRIVILEGES ON {object} FROM {account}"));
            if there.iter().any(|line| line.ends_with("WITH GRANT OPTION")) {
                statements.push(format!("REVOKE GRANT OPTION ON {object} FROM {account}"));
            }
        }
        statements.extend(wanted.iter().cloned());
        for sql in &statements {
            let run = sharding.own.run(to, sql.clone()).await;
            run.map_err(|failure| explained(sharding, failure, (to, database), &statements))?;
        }
    }
    Ok(())
}

fn explained(sharding: &Sharding, failure: Failure, (to, database): (ShardId, &str), statements: &[String]) -> Failure {
    if failure.fault != Fault::Server || (2000..3000).contains(&failure.code) {
        return failure;
    }
    let message = format!(
        "Weir's own account '{}' can't give rights on shard '{}' that an account has elsewhere ({}). Run there, as an account that may: {}; or \
         GRANT ALL ON {}.* TO Weir's account WITH GRANT OPTION. Then WEIR MOVE RESUME",
        sharding.own.user(),
        sharding.catalog().shard_name(to),
        failure.message,
        statements.join("; "),
        name(database)
    );
    Failure { message, ..failure }
}
