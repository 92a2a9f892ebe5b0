//! What sessions may do: files of steps (in the language of [`crate::step`]) from which random scripts are drawn.
//!
//! In a file, `# ` begins a comment line, and `mysql|` or `mariadb|` a step for that server only.
//!
//! Must always hold, because two runs are compared step by step: a statement's answer depends only on what was done
//! before it in this schedule (no clocks, ids or other databases), and no statement waits for another session for long
//! (rows and tables written are those of the session, named by `{s}`; waits for locks end after a second).

use weir_local::Flavor;

const CONTENT: &str = include_str!("../interleave/content.steps");
const SINGLES: &str = include_str!("../interleave/singles.steps");
const SHORT: &str = include_str!("../interleave/short.steps");
const GROUPS: &str = include_str!("../interleave/groups.steps");

/// A small generator of random numbers (splitmix64): a seed means the same schedule for ever, whatever crates do.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The statements that make the databases' content at the start.
pub(crate) fn content() -> Vec<&'static str> {
    // `Site::fill` leaves out what is for the other server.
    CONTENT.lines().filter(|line| !is_comment(line)).collect()
}

/// The steps of a file for this server.
pub(crate) fn steps(file: &str, flavor: Flavor) -> Vec<&str> {
    file.lines()
        .filter(|line| !line.is_empty() && !is_comment(line))
        .filter_map(|line| for_flavor(line, flavor))
        .collect()
}

fn is_comment(line: &str) -> bool {
    line.starts_with("# ")
}

/// The step for this server, or none.
pub(crate) fn for_flavor(step: &str, flavor: Flavor) -> Option<&str> {
    let (only, other) = match flavor {
        Flavor::MariaDb => ("mariadb|", "mysql|"),
        Flavor::MySql => ("mysql|", "mariadb|"),
    };
    (!step.starts_with(other)).then(|| step.strip_prefix(only).unwrap_or(step))
}

/// The sequences of a file, which empty lines divide.
pub(crate) fn scripts(file: &str, flavor: Flavor) -> Vec<Vec<&str>> {
    file.split("\n\n").map(|group| steps(group, flavor)).filter(|group| !group.is_empty()).collect()
}

/// A random script of about `length` steps for the session number `session`.
pub(crate) fn draw(dice: &mut Dice, flavor: Flavor, session: usize, length: usize) -> Vec<String> {
    let singles = steps(SINGLES, flavor);
    let groups = scripts(GROUPS, flavor);
    let mut script = vec![FIRST.to_owned()];
    while script.len() < length {
        if dice.percent(60) {
            script.push(draw_single(dice, &singles, session));
            continue;
        }
        let number = 1 + dice.below(9);
        for step in dice.pick(&groups) {
            if dice.percent(15) {
                script.push(draw_single(dice, &singles, session));
            }
            script.push(fill(step, session, || number));
        }
    }
    settled(script, flavor)
}

/// A random script of about `length` steps, most of which are short reads that are repeated.
pub(crate) fn draw_short(dice: &mut Dice, flavor: Flavor, session: usize, length: usize) -> Vec<String> {
    let groups = scripts(SHORT, flavor);
    let mut script = vec![FIRST.to_owned()];
    while script.len() < length {
        let group = dice.pick(&groups);
        for _ in 0..10 + dice.below(20) {
            script.push(fill(group[0], session, || 1 + dice.below(9)));
        }
        let after = *dice.pick(&group[1..]);
        script.push(fill(after, session, || 1 + dice.below(9)));
    }
    settled(script, flavor)
}

/// MariaDB keeps the objects of ended sessions for new ones, and FOUND_ROWS() in them (10.11): until its first SELECT
/// a session sees the number of another. So the first SELECT comes at once.
const FIRST: &str = "SELECT 'first'";

fn settled(script: Vec<String>, flavor: Flavor) -> Vec<String> {
    let anew = |step: &str| ["!reset", "!reconnect", "!user"].iter().any(|word| step.starts_with(word));
    let first = |step: &str| (flavor == Flavor::MariaDb && anew(step)).then(|| FIRST.to_owned());
    script
        .into_iter()
        .flat_map(|step| {
            let first = first(&step);
            std::iter::once(step).chain(first)
        })
        .collect()
}

fn draw_single(dice: &mut Dice, singles: &[&str], session: usize) -> String {
    let step = *dice.pick(singles);
    // An empty statement can't be a line of the file.
    if step == "(empty)" { String::new() } else { fill(step, session, || 1 + dice.below(9)) }
}

fn fill(step: &str, session: usize, mut number: impl FnMut() -> usize) -> String {
    let mut text = step.replace("{s}", &session.to_string());
    while let Some(at) = text.find("{n}") {
        text.replace_range(at..at + 3, &number().to_string());
    }
    text
}
