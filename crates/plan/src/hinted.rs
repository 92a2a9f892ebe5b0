//! Statements whose hint names the shard, and what of a write no shard can do alone.
//!
//! What must always hold: a hint brings no row to where nobody finds it.

use weir_catalog::{Placement, ShardId};
use weir_sql::ast::StatementKind;

use crate::analysis::{Analysis, Base, InstanceKind};
use crate::planner::Planner;
use crate::write::portion::is_of_portion;
use crate::{Need, Plan, Refusal, Route};

impl Planner<'_> {
    /// A statement whose hint names the shard runs there as it is, unless rows could come to be where nobody finds them.
    pub(crate) fn hinted(self, shard: ShardId) -> Result<Plan, Refusal> {
        use StatementKind as Kind;
        let misplaces = match self.statement.kind {
            Kind::Insert(_) => self.analysis()?.instances.first().is_some_and(|table| match &table.kind {
                InstanceKind::Base(base) => {
                    base.database.shards.len() > 1 && !matches!(base.table.placement, Placement::Single(_))
                }
                _ => false,
            }),
            Kind::Update(_) | Kind::Delete(_) => self.writes_beyond(&self.analysis()?),
            _ => false,
        };
        if misplaces {
            return Err(Need::OtherForm.refused(
                "A hint can't send this write to a shard: its rows may belong on others, or copies would differ. Leave the hint out, or, to \
                 repair something, SET weir_shard",
            ));
        }
        let blank = weir_sql::shard_hint(self.text, self.session.mode).and_then(|hint| hint.blank);
        let text = blank.map(|range| {
            let mut text = self.text.to_vec();
            text[range].fill(b' ');
            text
        });
        Ok(Plan::Route(Route { shard, text, raise: None, reason: "its hint names the shard".to_owned() }))
    }

    /// Whether it may write what is not on one shard: GLOBAL tables, a shard key, with which the row moves, or rows that are numbered over all
    /// shards.
    pub(crate) fn writes_beyond(self, analysis: &Analysis<'_>) -> bool {
        let assigned = |base: &Base<'_>, column: &usize| {
            let StatementKind::Update(update) = self.statement.kind else { return false };
            let name = &base.table.columns[*column].name;
            update.assignments.iter().any(|one| one.column.name.is(name))
        };
        analysis.instances.iter().any(|instance| match &instance.kind {
            InstanceKind::Base(base) => match &base.table.placement {
                _ if base.database.shards.len() == 1 => false,
                Placement::Global => true,
                Placement::Sharded(key) => {
                    key.columns.iter().any(|column| assigned(base, column))
                        || base.table.auto_increment.is_some() && is_of_portion(self.statement)
                }
                Placement::Single(_) => false,
            },
            _ => false,
        })
    }
}
