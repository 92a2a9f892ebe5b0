//! `WEIR EXPLAIN statement`: how a statement would run.

use weir_plan::explain;
use weir_sql::classify;
use weir_wire::resultset::{Column, ResultSet};
use weir_wire::{Failure, Fault};

use super::super::Session;
use super::super::server::Stopped;
use super::Asked;

impl Session {
    /// The statement that a `WEIR …` text wants to be explained, if it does.
    pub(in super::super) fn to_explain<'t>(&self, statement: &'t str) -> Option<&'t str> {
        let statement = statement.trim_start();
        let (word, rest) = statement.split_at_checked("EXPLAIN".len())?;
        (word.eq_ignore_ascii_case("EXPLAIN") && rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
    }

    /// Answers with the plan of a statement.
    pub(in super::super) async fn explain(&mut self, statement: &str) -> Result<(), Stopped> {
        let Some(sharding) = self.sharding() else {
            let message =
                "There is one shard, or the session has chosen one (weir_shard): every statement runs there as it is";
            return Err(Failure::new(Fault::Client, 1235, b"42000", message).into());
        };
        let class = classify(statement.as_bytes(), self.state.lex);
        let asked = Asked { class: &class, text: statement.as_bytes(), execution: None, values: None };
        let planned = self.plan(&sharding, asked).await?;
        let rows = explain::rows(&planned.plan, &planned.catalog);
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let result = ResultSet {
            columns: vec![Column::text("Item"), Column::text("Value")],
            rows: rows.iter().map(|(item, value)| vec![cell(item), cell(value)]).collect(),
        };
        self.result_here(&result);
        Ok(())
    }
}
