//! How a shard that has a definition already is recognised, when the definition is sent to it once more.

use weir_catalog::DefinitionKind;
use weir_wire::Failure;

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

/// What a refusal means.
///
/// Codes: 1007 database exists, 1008 does not; 1050 table or view exists, 1051 and 4092 do not; 1061 key exists, 1091 does not; 1125 and
/// 1304 routine exists, 1305 does not; 1359 trigger exists, 1360 does not; 1396 of accounts, either way; 1537 event exists, 1539 does
/// not; 1141, 1147, 1403 grant is not there; 1477 and 1476 server; 3162 account exists already (as a role).
pub fn verdict(deed: DefinitionKind, failure: &Failure) -> Verdict {
    match (deed, failure.code) {
        (DefinitionKind::CreateTable, 1050) | (DefinitionKind::ChangeTable, _) | (DefinitionKind::Rename, _) => {
            Verdict::DoneIfSame
        }
        (DefinitionKind::Create, 1007 | 1050 | 1125 | 1304 | 1359 | 1396 | 1476 | 1537 | 3162) => Verdict::Done,
        (DefinitionKind::Drop, 1008 | 1051 | 1141 | 1147 | 1305 | 1360 | 1396 | 1403 | 1477 | 1539 | 4092) => {
            Verdict::Done
        }
        _ => Verdict::Refused,
    }
}

/// SHOW CREATE TABLE without what may differ from shard to shard: the next value of AUTO_INCREMENT.
pub fn comparable(create: &[u8]) -> Vec<u8> {
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
    use weir_wire::Fault;

    #[test]
    fn a_refusal_means_that_it_is_done_only_where_nothing_else_can_be_meant() {
        for (deed, code, verdict) in [
            (DefinitionKind::CreateTable, 1050, Verdict::DoneIfSame),
            (DefinitionKind::CreateTable, 1064, Verdict::Refused),
            (DefinitionKind::CreateTable, 1142, Verdict::Refused),
            (DefinitionKind::Create, 1007, Verdict::Done),
            (DefinitionKind::Create, 1008, Verdict::Refused),
            (DefinitionKind::Drop, 1051, Verdict::Done),
            (DefinitionKind::Drop, 1050, Verdict::Refused),
            (DefinitionKind::ChangeTable, 1060, Verdict::DoneIfSame),
            (DefinitionKind::Again, 1050, Verdict::Refused),
        ] {
            let failure = Failure::new(Fault::Server, code, b"HY000", "");
            assert_eq!(super::verdict(deed, &failure), verdict, "{deed:?} {code}");
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
