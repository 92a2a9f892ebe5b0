//! The schema `weir` in each shard: what Weir keeps with the data.
//!
//! What must always hold: it is made by Weir's own account on the shard's writer, and replicas follow (`sql_log_bin` stays on); it is
//! made only where something is missing, so that a start writes nothing to a shard that has it.
//!
//! * `weir.decisions`: which distributed transactions were committed, which given up.
//! * `weir.decide(gid)`: the procedure with which a user's own transaction writes its decision; it runs with the rights of Weir's account.
//! * `weir.sequences`: the next AUTO_INCREMENT values.
//! * `weir.catalog`: copies of the catalog.

use weir_backend::OwnReply;
use weir_catalog::ShardId;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::own::{Own, quoted, text};

pub use weir_catalog::OWN_SCHEMA as SCHEMA;

/// The statement with which a user's own transaction writes that it commits. The id is a literal of the caller's making.
pub fn decide(gid: &str) -> String {
    format!("CALL weir.decide({})", quoted(gid))
}

/// Its tables and procedures, each with the statement that makes it.
const OBJECTS: [(&str, &str); 4] = [
    (
        "decisions",
        "CREATE TABLE IF NOT EXISTS weir.decisions (
            gid VARBINARY(140) NOT NULL PRIMARY KEY,
            outcome ENUM('commit', 'abort') NOT NULL,
            created DATETIME(6) NOT NULL COMMENT 'UTC',
            connection BIGINT UNSIGNED NOT NULL COMMENT 'The connection that decided',
            KEY created (created)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='Outcomes of distributed transactions'",
    ),
    (
        "sequences",
        "CREATE TABLE IF NOT EXISTS weir.sequences (
            database_name VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
            table_name VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
            next_value BIGINT UNSIGNED NOT NULL COMMENT 'No value from here on was given to anybody',
            PRIMARY KEY (database_name, table_name)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='AUTO_INCREMENT of sharded tables'",
    ),
    (
        "catalog",
        "CREATE TABLE IF NOT EXISTS weir.catalog (
            version BIGINT UNSIGNED NOT NULL,
            part INT UNSIGNED NOT NULL,
            parts INT UNSIGNED NOT NULL COMMENT 'How many parts the version has',
            document LONGTEXT COLLATE utf8mb4_bin NOT NULL,
            PRIMARY KEY (version, part)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='Copies of the catalog, the last versions of it'",
    ),
    (
        "decide",
        "CREATE PROCEDURE IF NOT EXISTS weir.decide (IN gid VARBINARY(140))
            MODIFIES SQL DATA SQL SECURITY DEFINER
            COMMENT 'Called by the transactions of Weir\\'s clients'
            INSERT INTO weir.decisions (gid, outcome, created, connection)
                VALUES (gid, 'commit', UTC_TIMESTAMP(6), CONNECTION_ID())",
    ),
];

/// What is wrong with a shard's schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Weir's own account lacks rights.
    #[error(
        "Weir's own account {account} lacks rights on shard '{shard}' that sharding requires ({said}). Run on the shard's writer:\n  {}",
        grants.join("\n  ")
    )]
    Rights {
        /// The shard's name.
        shard: String,
        /// The account, as the server knows it.
        account: String,
        /// What the server said.
        said: String,
        /// The statements that give what is missing.
        grants: Vec<String>,
    },
    /// The server failed.
    #[error("shard '{shard}': {failure}")]
    Failed {
        /// The shard's name.
        shard: String,
        /// How.
        failure: Failure,
    },
}

/// What is asked of a server that has it all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Weir's account there.
    pub account: String,
    /// Its kind.
    pub mariadb: bool,
    /// Names of databases and tables don't depend on case.
    pub fold_case: bool,
}

/// Sees to it that the schema is on the shard's writer, and that Weir's account has its rights there.
///
/// # Errors
/// When rights are missing, with what to GRANT; or the server's error.
pub async fn ensure(own: &Own, shard: ShardId) -> Result<Server, SchemaError> {
    let failed = |failure| SchemaError::Failed { shard: shard_name(own, shard), failure };
    let server = ask(own, shard).await.map_err(failed)?;
    let outcome = match check_rights(own, shard, server.mariadb).await {
        Ok(()) => make(own, shard, &server).await,
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(()) => Ok(server),
        Err(failure) if is_about_rights(failure.code) => {
            let grants = grants(&server.account, server.mariadb);
            Err(SchemaError::Rights {
                shard: shard_name(own, shard),
                account: server.account,
                said: failure.message,
                grants,
            })
        }
        Err(failure) => Err(failed(failure)),
    }
}

fn shard_name(own: &Own, shard: ShardId) -> String {
    own.groups()[usize::from(shard.0)].settings().name.clone()
}

async fn ask(own: &Own, shard: ShardId) -> Result<Server, Failure> {
    let reply = own.run(shard, "SELECT CURRENT_USER(), VERSION(), @@GLOBAL.lower_case_table_names").await?;
    let row = reply.rows.first().map(Vec::as_slice).unwrap_or_default();
    Ok(Server {
        account: account(&text(row.first())),
        mariadb: text(row.get(1)).contains("MariaDB"),
        fold_case: text(row.get(2)) != "0",
    })
}

/// `user@host` as a statement writes it.
fn account(current: &str) -> String {
    let (user, host) = current.rsplit_once('@').unwrap_or((current, "%"));
    format!("{}@{}", quoted(user), quoted(host))
}

/// What Weir's account needs with several shards, beyond what watching servers takes.
pub fn grants(account: &str, mariadb: bool) -> Vec<String> {
    // On MariaDB everybody may XA RECOVER.
    let recover = if mariadb { "" } else { ", XA_RECOVER_ADMIN" };
    let global = "PROCESS, SELECT, SHOW VIEW, SHOW DATABASES, TRIGGER, EVENT, RELOAD";
    vec![
        format!("GRANT {global}{recover} ON *.* TO {account};"),
        format!("GRANT ALL PRIVILEGES ON `weir`.* TO {account} WITH GRANT OPTION;"),
    ]
}

fn is_about_rights(code: u16) -> bool {
    const RIGHTS: [u16; 7] = [
        codes::ER_DBACCESS_DENIED_ERROR,
        codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
        codes::ER_TABLEACCESS_DENIED_ERROR,
        codes::ER_COLUMNACCESS_DENIED_ERROR,
        codes::ER_PROCACCESS_DENIED_ERROR,
        // XA RECOVER without XA_RECOVER_ADMIN.
        codes::ER_XAER_RMERR,
        codes::ER_CANT_CREATE_USER_WITH_GRANT,
    ];
    RIGHTS.contains(&code)
}

/// Rights are tried, not read: they may come from roles.
async fn check_rights(own: &Own, shard: ShardId, mariadb: bool) -> Result<(), Failure> {
    // PROCESS.
    own.run(shard, "SELECT COUNT(*) FROM information_schema.INNODB_TRX").await?;
    if !mariadb {
        own.run(shard, "XA RECOVER").await?;
    }
    // SELECT on everything: definitions are read from information_schema, which shows what an account may read.
    let probe = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = 'user'";
    let visible = own.run(shard, probe).await?;
    if visible.rows.first().is_some_and(|row| text(row.first()) == "0") {
        let message = "SELECT on all databases is missing";
        return Err(Failure::weir(codes::ER_SPECIFIC_ACCESS_DENIED_ERROR, message));
    }
    Ok(())
}

async fn make(own: &Own, shard: ShardId, server: &Server) -> Result<(), Failure> {
    let there = present(own, shard).await?;
    let missing: Vec<_> = OBJECTS.iter().filter(|(name, _)| !there.iter().any(|found| found == name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    own.run(shard, "CREATE DATABASE IF NOT EXISTS weir DEFAULT CHARACTER SET utf8mb4").await?;
    for (name, statement) in missing {
        own.run(shard, *statement).await?;
        tracing::info!(shard = shard_name(own, shard), object = format!("weir.{name}"), "made in the shard");
        if *name == "decide" {
            let_call(own, shard, server).await?;
        }
    }
    Ok(())
}

/// MariaDB can let everybody call the procedure, from 10.11 on and where PUBLIC has been granted something before. Elsewhere users get it
/// one by one, when they first need it; that Weir may give it is seen now.
async fn let_call(own: &Own, shard: ShardId, server: &Server) -> Result<(), Failure> {
    let grant = |whom: &str| own.run(shard, format!("GRANT EXECUTE ON PROCEDURE weir.decide TO {whom}"));
    if server.mariadb {
        match grant("PUBLIC").await {
            Ok(_) => return Ok(()),
            Err(failure) => tracing::debug!(%failure, "no grant to PUBLIC"),
        }
    }
    grant(&server.account).await.map(drop)
}

async fn present(own: &Own, shard: ShardId) -> Result<Vec<String>, Failure> {
    let sql = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'weir' \
               UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'weir'";
    let OwnReply { rows, .. } = own.run(shard, sql).await?;
    Ok(rows.iter().map(|row| text(row.first()).to_lowercase()).collect())
}

/// Lets an account call [`decide`] on a shard: what Weir does when a transaction was refused with
/// [`codes::ER_PROCACCESS_DENIED_ERROR`]. `current_user` is what `SELECT CURRENT_USER()` says on the transaction's connection.
///
/// # Errors
/// The server's.
pub async fn allow_to_decide(own: &Own, shard: ShardId, current_user: &str) -> Result<(), Failure> {
    let whom = account(current_user);
    own.run(shard, format!("GRANT EXECUTE ON PROCEDURE weir.decide TO {whom}")).await?;
    tracing::info!(shard = shard_name(own, shard), account = whom, "may decide transactions");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_written_as_statements_write_them() {
        assert_eq!(account("app@%"), "'app'@'%'");
        assert_eq!(account("o'neil@x@10.0.0.1"), "'o''neil@x'@'10.0.0.1'");
        assert_eq!(account("@localhost"), "''@'localhost'");
    }

    #[test]
    fn an_id_is_a_literal() {
        assert_eq!(decide("weir,1"), "CALL weir.decide('weir,1')");
    }
}
