//! Tables as both outputs show them.
//!
//! Must always hold: every row has as many cells as the table has columns, or is a row that says why there are none.

use super::format::Unit;
use super::stats::Figure;

/// Rows of figures under a caption.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// What it shows.
    pub caption: String,
    /// The heads of the columns. The first [`Table::heads`] hold words, the others numbers.
    pub columns: Vec<String>,
    /// How many columns name the row.
    pub heads: usize,
    /// The rows.
    pub rows: Vec<Row>,
    /// Whether the page shows it only when asked.
    pub folded: bool,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The cells that name it.
    pub heads: Vec<String>,
    /// Its figures, or why there are none.
    pub cells: Result<Vec<Cell>, String>,
    /// The name of the group of rows that begins here, if the first column names a group.
    pub group: Option<String>,
}

/// How a ratio is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Neither.
    Plain,
    /// Better than what it is compared with, by 5% or more.
    Better,
    /// Worse, by 5% or more.
    Worse,
    /// A failure: errors, a missing figure.
    Alarm,
}

/// One figure, or a word in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// The median, written out.
    pub text: String,
    /// The spread over the rounds, written out.
    pub spread: Option<String>,
    /// Whether the spread is too wide to trust the median.
    pub wide: bool,
    /// Whether it is good or bad news.
    pub tone: Tone,
}

impl Table {
    /// A table without rows, shown open.
    pub(crate) fn new(caption: impl Into<String>, heads: &[&str], columns: impl IntoIterator<Item = String>) -> Self {
        let columns = heads.iter().map(|head| (*head).to_owned()).chain(columns).collect();
        Self { caption: caption.into(), columns, heads: heads.len(), rows: Vec::new(), folded: false }
    }

    /// How many columns hold figures.
    pub(crate) fn width(&self) -> usize {
        self.columns.len() - self.heads
    }

    /// The columns where groups have a heading of their own, which takes the place of the first of two naming columns.
    pub(crate) fn shown_columns(&self) -> &[String] {
        &self.columns[self.heads - 1..]
    }

    /// The same table, shown only when asked.
    pub(crate) fn folded(self) -> Self {
        Self { folded: true, ..self }
    }

    /// Adds a row that one column names.
    pub(crate) fn push(&mut self, head: String, cells: Result<Vec<Cell>, String>) {
        self.add(Row { heads: vec![head], cells, group: None });
    }

    /// Adds a row that two columns name, of which the first is the same for all rows of a group. Where a group begins, its
    /// name in full may be shown instead of that column.
    pub(crate) fn push_grouped(&mut self, group: String, heads: [String; 2], cells: Result<Vec<Cell>, String>) {
        let begins = self.rows.last().is_none_or(|last| last.heads[0] != heads[0]);
        self.add(Row { heads: heads.into(), cells, group: begins.then_some(group) });
    }

    fn add(&mut self, row: Row) {
        debug_assert_eq!(row.heads.len(), self.heads);
        debug_assert!(row.cells.as_ref().map_or(true, |cells| cells.len() == self.width()));
        self.rows.push(row);
    }
}

impl Row {
    /// What tells it from the others of its group.
    pub(crate) fn name(&self) -> &str {
        self.heads.last().map_or("", String::as_str)
    }
}

impl Cell {
    /// A word or a number without a spread.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), spread: None, wide: false, tone: Tone::Plain }
    }

    /// A word for a failure.
    pub(crate) fn alarm(text: impl Into<String>) -> Self {
        Self { tone: Tone::Alarm, ..Self::plain(text) }
    }

    /// The median and the spread, or a dash.
    pub(crate) fn figure(figure: Option<Figure>, unit: Unit) -> Self {
        let Some(figure) = figure else { return Self::plain("–") };
        Self {
            text: unit.write(figure.median),
            spread: match figure.spread() {
                Some(spread) => Some(super::format::percent(spread)),
                None => figure.is_wide().then(|| "rounds differ".to_owned()),
            },
            wide: figure.is_wide(),
            tone: Tone::Plain,
        }
    }

    /// A number of errors: an alarm unless 0.
    pub(crate) fn errors(figure: Option<Figure>) -> Self {
        let cell = Self::figure(figure, Unit::Count);
        match figure {
            Some(figure) if figure.high > 0.0 => Self { tone: Tone::Alarm, ..cell },
            Some(_) => Self::plain("0"),
            None => cell,
        }
    }

    /// A ratio, which is better above 1 or below.
    pub(crate) fn ratio(figure: Option<Figure>, higher_is_better: bool) -> Self {
        let cell = Self::figure(figure, Unit::Ratio);
        let tone = match figure.map(|figure| figure.median) {
            Some(ratio) if ratio >= 1.05 => [Tone::Worse, Tone::Better][usize::from(higher_is_better)],
            Some(ratio) if ratio <= 0.95 => [Tone::Better, Tone::Worse][usize::from(higher_is_better)],
            _ => Tone::Plain,
        };
        Self { tone, ..cell }
    }
}
