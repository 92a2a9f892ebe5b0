//! Makes a script that shows a difference smaller, as long as it still shows one at its last statement.

use super::Shares;
use super::play::{Difference, End, Nature, play};
use super::script::Script;
use crate::Error;
use crate::stage::Target;

/// How often a smaller script is tried.
const TRIES: usize = 150;

struct Shrinking<'a> {
    targets: [&'a Target; 2],
    nature: Nature,
    tries: usize,
}

/// A smaller script with the same end; none if the whole script does not end so again.
pub(super) fn shrink(script: &Script, difference: &Difference, targets: &[Target]) -> Result<Option<Script>, Error> {
    let mut script = script.clone();
    let mut shrinking =
        Shrinking { targets: [&targets[0], &targets[difference.target]], nature: difference.nature, tries: 0 };
    script.acts.truncate(difference.act + 1);
    if !shrinking.still(&script)? {
        return Ok(None);
    }
    script = shrinking.acts(script)?;
    script = shrinking.tables(script)?;
    for table in 0..script.tables.len() {
        script = shrinking.rows(script, table)?;
    }
    Ok(Some(script))
}

impl Shrinking<'_> {
    /// Whether it still ends with a difference.
    fn still(&mut self, script: &Script) -> Result<bool, Error> {
        self.tries += 1;
        let end = play(script, &self.targets, &mut Shares::new())?;
        Ok(
            matches!(end, End::Different(difference) if difference.act + 1 == script.acts.len() && difference.nature == self.nature),
        )
    }

    /// Without statements before the last.
    fn acts(&mut self, mut script: Script) -> Result<Script, Error> {
        let mut size = script.acts.len().div_ceil(2);
        while size > 0 && self.tries < TRIES {
            let mut at = 0;
            while at + 1 < script.acts.len() && self.tries < TRIES {
                let end = (at + size).min(script.acts.len() - 1);
                let mut smaller = script.clone();
                smaller.acts.drain(at..end);
                if self.still(&smaller)? { script = smaller } else { at = end }
            }
            size /= 2;
        }
        Ok(script)
    }

    fn tables(&mut self, mut script: Script) -> Result<Script, Error> {
        let mut table = 0;
        while table < script.tables.len() {
            let mut smaller = script.clone();
            smaller.tables.remove(table);
            if self.tries < TRIES && self.still(&smaller)? { script = smaller } else { table += 1 }
        }
        Ok(script)
    }

    fn rows(&mut self, mut script: Script, table: usize) -> Result<Script, Error> {
        let mut size = script.tables[table].rows.len();
        while size > 0 && self.tries < 2 * TRIES {
            let mut at = 0;
            while at < script.tables[table].rows.len() && self.tries < 2 * TRIES {
                let end = (at + size).min(script.tables[table].rows.len());
                let mut smaller = script.clone();
                smaller.tables[table].rows.drain(at..end);
                if self.still(&smaller)? { script = smaller } else { at = end }
            }
            size /= 2;
        }
        Ok(script)
    }
}
