//! What servers say of themselves: what a move depends on, and where their binary logs end.

use std::collections::HashMap;

use weir_backend::gtid::Position as Gtids;
use weir_catalog::ShardId;
use weir_shards::own::quoted;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::MoveError;
use crate::link::Link;
use crate::position::Position;

/// How one knows that a change that is in the log can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// MariaDB: a consistent snapshot says which position it is at.
    Snapshots,
    /// MySQL with GTIDs: a transaction is in `gtid_executed` once it can be read.
    Gtids,
    /// MySQL without: commits become visible in the order of the log, so that a change of Weir's own that has been made after it was
    /// read from the log shows that those before it can be read.
    Marks,
}

/// What a source's server is.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Its name for positions.
    pub(crate) server: String,
    pub(crate) mariadb: bool,
    pub(crate) ignore_case: bool,
    pub(crate) checksums: bool,
    pub(crate) sight: Sight,
}

const VARIABLES: [&str; 12] = [
    "server_uuid",
    "server_id",
    "hostname",
    "port",
    "datadir",
    "log_bin",
    "binlog_format",
    "gtid_mode",
    "binlog_order_commits",
    "lower_case_table_names",
    "binlog_checksum",
    "version",
];

impl Facts {
    /// Asks a source.
    ///
    /// # Errors
    /// When its binary log is not such that it can be followed, with the way out.
    pub(crate) async fn ask(link: &mut Link) -> Result<Facts, MoveError> {
        let shard = link.shard;
        let failed = |failure| MoveError::of_source(shard, failure);
        let names: Vec<String> = VARIABLES.iter().map(|name| quoted(name)).collect();
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(","));
        let mut variables = HashMap::new();
        for row in link.query(&sql).await.map_err(failed)? {
            let mut cells = row.into_iter().map(|cell| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned());
            if let (Some(name), Some(value)) = (cells.next(), cells.next()) {
                variables.insert(name, value);
            }
        }
        let of = |name: &str| variables.get(name).map_or("", String::as_str);
        let name = link.server_name();
        if of("log_bin") != "ON" && of("log_bin") != "1" {
            return Err(MoveError::refused(format!(
                "Server '{name}' has no binary log, which a move follows: start it with log_bin"
            )));
        }
        if !matches!(of("binlog_format"), "ROW" | "") {
            return Err(MoveError::refused(format!(
                "Server '{name}' has binlog_format={}, and a move needs rows: SET GLOBAL binlog_format=ROW, and let sessions begin anew",
                of("binlog_format")
            )));
        }
        let sight = match (link.mariadb, of("gtid_mode")) {
            (true, _) => Sight::Snapshots,
            (false, "ON" | "ON_PERMISSIVE") => Sight::Gtids,
            (false, _) if of("binlog_order_commits") == "OFF" => {
                return Err(MoveError::refused(format!(
                    "Server '{name}' has neither gtid_mode=ON nor binlog_order_commits=ON, one of which a move needs: set one of them"
                )));
            }
            (false, _) => Sight::Marks,
        };
        let server = match of("server_uuid") {
            "" => format!("{}@{}:{}{}", of("server_id"), of("hostname"), of("port"), of("datadir")),
            uuid => uuid.to_owned(),
        };
        Ok(Facts {
            server,
            mariadb: link.mariadb,
            ignore_case: of("lower_case_table_names") != "0",
            checksums: of("binlog_checksum") == "CRC32",
            sight,
        })
    }

    /// Where the server's binary log ends.
    ///
    /// # Errors
    /// When it can't be asked.
    pub(crate) async fn position(&self, link: &mut Link) -> Result<Position, Failure> {
        let (status, gtids) = match self.mariadb {
            true => self.status_with_gtids(link).await?,
            false => {
                let status = status(link).await?;
                let gtids = status.get(4).map(|gtids| gtids.replace('\n', "")).unwrap_or_default();
                (status, gtids)
            }
        };
        let (file, offset) = (status.first().cloned().unwrap_or_default(), status.get(1));
        let offset = offset.and_then(|offset| offset.parse().ok()).ok_or_else(|| {
            let message = format!("Server '{}' does not say where its binary log ends", link.server_name());
            Failure::server(codes::ER_UNKNOWN_ERROR, message)
        })?;
        Ok(Position { server: self.server.clone(), file, offset, gtids })
    }

    /// MariaDB tells a place in a file and its GTIDs one by one; they belong together if the GTIDs are the same before and after. To be
    /// told the GTIDs of a place takes a server as long as to read the file up to it.
    async fn status_with_gtids(&self, link: &mut Link) -> Result<(Vec<String>, String), Failure> {
        const TRIES: usize = 50;
        const GTIDS: &str = "SELECT @@GLOBAL.gtid_binlog_pos";
        let mut before = link.query_texts(GTIDS).await?;
        for _ in 0..TRIES {
            let status = status(link).await?;
            let after = link.query_texts(GTIDS).await?;
            if before == after {
                return Ok((status, after.into_iter().next().unwrap_or_default()));
            }
            before = after;
        }
        let status = status(link).await?;
        let cell = |at: usize| status.get(at).map_or("", String::as_str);
        let sql = format!("SELECT BINLOG_GTID_POS({}, {})", quoted(cell(0)), cell(1));
        let gtids = link.query_texts(&sql).await?.pop().unwrap_or_default();
        Ok((status, gtids))
    }
}

/// SHOW BINARY LOG STATUS: file, offset, databases that are logged, those that are not, GTIDs.
async fn status(link: &mut Link) -> Result<Vec<String>, Failure> {
    if link.mariadb {
        return link.query_texts("SHOW MASTER STATUS").await;
    }
    match link.query_texts("SHOW BINARY LOG STATUS").await {
        // Older than 8.2.
        Err(failure) if failure.code == codes::ER_PARSE_ERROR => link.query_texts("SHOW MASTER STATUS").await,
        status => status,
    }
}

/// Whether the log leaves databases out.
pub(crate) async fn is_filtered(link: &mut Link) -> Result<bool, Failure> {
    let status = status(link).await?;
    Ok(status.get(2).is_some_and(|all| !all.is_empty()) || status.get(3).is_some_and(|none| !none.is_empty()))
}

/// GTIDs as they are written in positions; none where they are empty or can't be read.
pub(crate) fn gtids_of(mariadb: bool, text: &str) -> Option<Gtids> {
    Gtids::parse(mariadb, text).ok()
}

/// The shard of a link, for errors.
pub(crate) fn source_error(shard: ShardId) -> impl Fn(Failure) -> MoveError {
    move |failure| MoveError::of_source(shard, failure)
}
