//! How a shard that has a definition already is recognised, when the definition is sent to it once more.

use weir_catalog::{DefinitionKind, ShardId};
use weir_exec::ShardLease;
use weir_shards::ask::{Reply, ask};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::conclude::Answered;
use super::intent::Intent;

/// What a server's refusal of a definition that it may have done already means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has it.
    Done,
    /// It has it, if its table is the same as that of the others.
    DoneIfSame,
    /// It is a refusal.
    Refused,
}

/// What a refusal means. A change of a table, also by RENAME, may be refused in many ways once it is made: the tables are compared.
pub fn verdict(kind: DefinitionKind, failure: &Failure) -> Verdict {
    match kind {
        DefinitionKind::ChangeTable | DefinitionKind::Rename => Verdict::DoneIfSame,
        DefinitionKind::CreateTable if failure.code == codes::ER_TABLE_EXISTS_ERROR => Verdict::DoneIfSame,
        DefinitionKind::Create if EXISTS.contains(&failure.code) => Verdict::Done,
        DefinitionKind::Drop if IS_NOT_THERE.contains(&failure.code) => Verdict::Done,
        _ => Verdict::Refused,
    }
}

/// What is created exists.
const EXISTS: [u16; 8] = [
    codes::ER_DB_CREATE_EXISTS,
    codes::ER_TABLE_EXISTS_ERROR,
    codes::ER_UDF_EXISTS,
    codes::ER_SP_ALREADY_EXISTS,
    codes::ER_TRG_ALREADY_EXISTS,
    codes::ER_CANNOT_USER,
    codes::ER_FOREIGN_SERVER_EXISTS,
    codes::ER_EVENT_ALREADY_EXISTS,
];

/// What is dropped is not there.
const IS_NOT_THERE: [u16; 11] = [
    codes::ER_DB_DROP_EXISTS,
    codes::ER_BAD_TABLE_ERROR,
    codes::ER_NONEXISTING_GRANT,
    codes::ER_NONEXISTING_TABLE_GRANT,
    codes::ER_SP_DOES_NOT_EXIST,
    codes::ER_TRG_DOES_NOT_EXIST,
    codes::ER_CANNOT_USER,
    codes::ER_NONEXISTING_PROC_GRANT,
    codes::ER_FOREIGN_SERVER_DOESNT_EXIST,
    codes::ER_EVENT_DOES_NOT_EXIST,
    codes::ER_UNKNOWN_VIEW,
];

/// What a shard without the object says of a REVOKE: no right is left there, or the client has none there that he could take from others.
const HAS_NO_RIGHTS: [u16; 7] = [
    codes::ER_NONEXISTING_GRANT,
    codes::ER_NONEXISTING_TABLE_GRANT,
    codes::ER_NONEXISTING_PROC_GRANT,
    codes::ER_TABLEACCESS_DENIED_ERROR,
    codes::ER_DBACCESS_DENIED_ERROR,
    codes::ER_NO_DB_ERROR,
    codes::ER_NO_SUCH_TABLE,
];

/// A REVOKE is done on shards that have neither the object nor a right to it.
pub(super) fn pass_over_left(intent: &Intent, answers: &mut [(ShardId, Answered)]) {
    for (shard, answer) in answers {
        let has_none = |failure: &Failure| HAS_NO_RIGHTS.contains(&failure.code);
        if intent.left_over.contains(shard) && matches!(answer, Answered::Refused(failure) if has_none(failure)) {
            *answer = Answered::There;
        }
    }
}

/// What IF NOT EXISTS notes with codes of its own: MySQL of triggers, and of accounts and roles; MariaDB of accounts, and of roles.
const ONLY_NOTED: [u16; 4] = [4099, 3163, 1973, 1975];

/// Whether what IF NOT EXISTS was to make was there before, by the warnings that it has left on the shard. Others, of a deprecated
/// character set for example, say nothing about that. They are not asked for if there are none.
///
/// # Errors
/// The connection is lost.
pub async fn was_there(part: &mut ShardLease, reply: &Reply) -> Result<bool, Failure> {
    if reply.warnings == 0 {
        return Ok(false);
    }
    let shown = ask(&mut part.lease, b"SHOW WARNINGS").await.ok()?;
    // The server keeps no more than max_error_count: one that is not shown may say that it was there.
    Ok(shown.rows.len() < usize::from(reply.warnings) || shown.rows.iter().any(|row| says_it_was_there(row)))
}

fn says_it_was_there(row: &[Option<Vec<u8>>]) -> bool {
    let [Some(level), Some(code), ..] = row else { return false };
    let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
    level == b"Note" && code.is_some_and(|code: u16| EXISTS.contains(&code) || ONLY_NOTED.contains(&code))
}

/// SHOW CREATE TABLE without what may differ from shard to shard: the next value of AUTO_INCREMENT, and whether MySQL names the character
/// set before a collation, which depends on how the column got it.
pub fn comparable(create: &[u8]) -> Vec<u8> {
    without_implied_charsets(&without_next_value(create))
}

/// Without ` CHARACTER SET x` where ` COLLATE x_…` follows, which implies it. What stands in quotes stays.
fn without_implied_charsets(create: &[u8]) -> Vec<u8> {
    const CHARSET: &[u8] = b" CHARACTER SET ";
    const COLLATE: &[u8] = b" COLLATE ";
    let mut out = Vec::with_capacity(create.len());
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = create.get(at) {
        let rest = &create[at..];
        if quote.is_none() && rest.starts_with(CHARSET) {
            let name = &rest[CHARSET.len()..];
            let name = &name[..name.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(name.len())];
            let behind = &rest[CHARSET.len() + name.len()..];
            let collation = behind.strip_prefix(COLLATE).and_then(|collation| collation.strip_prefix(name));
            if collation.is_some_and(|rest| rest.starts_with(b"_")) {
                at += CHARSET.len() + name.len();
                continue;
            }
        }
        match quote {
            None if matches!(byte, b'\'' | b'`') => quote = Some(byte),
            Some(open) if open == byte => quote = None,
            _ => {}
        }
        out.push(byte);
        at += 1;
    }
    out
}

fn without_next_value(create: &[u8]) -> Vec<u8> {
    const OPTION: &[u8] = b" AUTO_INCREMENT=";
    // Behind the columns: in a comment of a column the same words are text. The last parenthesis of the columns begins a line.
    let options = create.windows(2).rposition(|pair| pair == b"\n)").unwrap_or(0);
    let found = create[options..].windows(OPTION.len()).position(|window| window == OPTION);
    let Some(at) = found.map(|at| options + at) else { return create.to_vec() };
    let digits = create[at + OPTION.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    [&create[..at], &create[at + OPTION.len() + digits..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_notes_of_if_not_exists_say_that_it_was_there() {
        for (level, code, there) in [
            ("Note", "1050", true),
            ("Note", "1007", true),
            ("Note", "4099", true),
            ("Note", "1973", true),
            // A deprecated width or character set, and what MariaDB says of events while its scheduler is off.
            ("Warning", "1681", false),
            ("Warning", "3719", false),
            ("Warning", "1105", false),
            ("Error", "1050", false),
        ] {
            let row = [level, code, "words"].map(|cell| Some(cell.as_bytes().to_vec()));
            assert_eq!(says_it_was_there(&row), there, "{level} {code}");
        }
    }

    #[test]
    fn a_refusal_means_that_it_is_done_only_where_nothing_else_can_be_meant() {
        for (kind, code, verdict) in [
            (DefinitionKind::CreateTable, codes::ER_TABLE_EXISTS_ERROR, Verdict::DoneIfSame),
            (DefinitionKind::CreateTable, codes::ER_PARSE_ERROR, Verdict::Refused),
            (DefinitionKind::CreateTable, codes::ER_TABLEACCESS_DENIED_ERROR, Verdict::Refused),
            (DefinitionKind::Create, codes::ER_DB_CREATE_EXISTS, Verdict::Done),
            (DefinitionKind::Create, codes::ER_DB_DROP_EXISTS, Verdict::Refused),
            (DefinitionKind::Drop, codes::ER_BAD_TABLE_ERROR, Verdict::Done),
            (DefinitionKind::Drop, codes::ER_TABLE_EXISTS_ERROR, Verdict::Refused),
            (DefinitionKind::ChangeTable, codes::ER_DUP_FIELDNAME, Verdict::DoneIfSame),
            (DefinitionKind::Again, codes::ER_TABLE_EXISTS_ERROR, Verdict::Refused),
        ] {
            let failure = Failure::server(code, "");
            assert_eq!(super::verdict(kind, &failure), verdict, "{kind:?} {code}");
        }
    }

    #[test]
    fn a_character_set_that_a_collation_implies_is_left_out() {
        for (column, expected) in [
            ("`a` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "`a` text COLLATE utf8mb4_bin"),
            ("`a` text CHARACTER SET latin1", "`a` text CHARACTER SET latin1"),
            (
                "`a` text COMMENT 'it''s CHARACTER SET x COLLATE x_y'",
                "`a` text COMMENT 'it''s CHARACTER SET x COLLATE x_y'",
            ),
            ("` CHARACTER SET x COLLATE x_y` int", "` CHARACTER SET x COLLATE x_y` int"),
        ] {
            let table = |column: &str| format!("CREATE TABLE `t` (\n  {column}\n) ENGINE=InnoDB").into_bytes();
            assert_eq!(comparable(&table(column)), table(expected), "{column}");
        }
    }

    #[test]
    fn the_next_value_of_auto_increment_is_left_out_of_the_options_only() {
        for (create, expected) in [
            ("CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4", true),
            ("CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", true),
            (
                "CREATE TABLE `t` (\n  `id` int COMMENT ' AUTO_INCREMENT=1'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
                false,
            ),
        ] {
            let plain = "CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
            assert_eq!(comparable(create.as_bytes()) == plain.as_bytes(), expected, "{create}");
        }
    }
}
