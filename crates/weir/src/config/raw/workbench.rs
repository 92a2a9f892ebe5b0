//! `[workbench]`, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::SizeText;

/// `[workbench]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawWorkbench {
    /// The maximum size of the rows that one statement gathers, as Weir sends them to the server. A statement that needs more gets error
    /// 1038. The rows are in the server's temporary tablespace (`innodb_temp_data_file_path`, MySQL: `innodb_temp_tablespaces_dir`), which
    /// must have room for those of all statements that run at the same time.
    pub(crate) max_bytes: SizeText,
    /// The maximum number of rows that one statement gathers. A statement that needs more gets error 1038. 0: no limit of its own.
    pub(crate) max_rows: u64,
}

impl Default for RawWorkbench {
    fn default() -> Self {
        Self { max_bytes: "4GiB".into(), max_rows: 0 }
    }
}
