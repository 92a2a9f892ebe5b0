//! Weir's own clauses of a table: which shards hold its rows.
//!
//! What must hold: none of them begins as something that a server reads at the same place, so that a text for a server
//! alone means what it always meant. The comment that stands for a clause is one only if it begins with `weir:`.

use super::super::{Expected, Parser, Read};
use crate::ast::{Ident, PartitionValues, Placement, PlacementKind, ShardBy, ShardMethod, ShardPart, Span};
use crate::cursor::Cursor;
use crate::kw;
use crate::lexer::{Lexer, TokenKind};

/// What errors tell of the clause.
const CLAUSE: &str = "SHARD BY HASH(column, …), SHARD BY RANGE(column) (shard VALUES LESS THAN (value), …), SHARD BY LIST(column) (shard VALUES \
                      IN (value, …), …), SHARD BY YEAR(column), MONTH(column) or DAY(column), GLOBAL, SINGLE or SINGLE ON SHARD 'shard'";
const HASH: &str = "SHARD BY HASH(column, …)";
const RANGE: &str = "SHARD BY RANGE(column) (shard VALUES LESS THAN (value), …), the last part of which may be shard VALUES LESS THAN MAXVALUE";
const LIST: &str = "SHARD BY LIST(column) (shard VALUES IN (value, …), …), one part of which may be shard DEFAULT";
const PERIOD: &str = "SHARD BY YEAR(column), SHARD BY MONTH(column) or SHARD BY DAY(column)";
const SINGLE: &str = "SINGLE or SINGLE ON SHARD 'shard'";
const COMMENT: &str = "/*weir: clause */ with nothing else in it, where the clause is SHARD BY HASH(column, …), SHARD BY RANGE(column) (…), \
                       SHARD BY LIST(column) (…), SHARD BY YEAR(column), MONTH(column) or DAY(column), GLOBAL or SINGLE";
/// Words that begin what is meant for a clause, and is none.
const MEANT: [&str; 6] = ["shard", "shards", "sharded", "sharding", "distributed", "distribute"];

impl<'a> Parser<'a> {
    /// Weir's clauses and the comments that stand for them, as many as there are here. The last one counts.
    pub(super) fn placements(&mut self, placement: &mut Option<Placement<'a>>) -> Read<()> {
        loop {
            if let Some(found) = self.placement_comment()? {
                *placement = Some(found);
            }
            if !self.at_placement() {
                return Ok(());
            }
            let start = self.start();
            let kind = self.of_form(CLAUSE, Self::placement_kind)?;
            *placement = Some(Placement { span: self.span_from(start), in_comment: false, kind, unchecked: &[] });
            self.eat_punct(b',');
        }
    }

    /// A new placement in ALTER TABLE. `UNIQUE UNCHECKED (keys)` may follow, as in a comment.
    pub(super) fn new_placement(&mut self) -> Read<Placement<'a>> {
        let start = self.start();
        let kind = self.of_form(CLAUSE, Self::placement_kind)?;
        let unchecked = self.unchecked_keys()?;
        Ok(Placement { span: self.span_from(start), in_comment: false, kind, unchecked })
    }

    /// The same as a comment, behind the table's name.
    pub(super) fn new_placement_in_comment(&mut self) -> Read<Option<Placement<'a>>> {
        self.placement_comment()
    }

    fn unchecked_keys(&mut self) -> Read<&'a [Ident<'a>]> {
        if !self.eat(kw::UNIQUE) {
            return Ok(&[]);
        }
        self.expect_spelled("unchecked")?;
        self.names_in_parentheses()
    }

    /// Behind a table's definition, where no server reads one of these words: a clause of Weir's was meant.
    pub(super) fn no_misspelt_placement(&mut self) -> Read<()> {
        match MEANT.iter().any(|word| self.spelled(word)) {
            true => self.of_form(CLAUSE, |parser| parser.stop(Expected::What("SHARD BY, GLOBAL or SINGLE"))),
            false => Ok(()),
        }
    }

    /// Whether one of Weir's clauses begins here.
    pub(super) fn at_placement(&self) -> bool {
        if self.next_is(kw::BY) {
            return self.spelled("shard") || self.spelled("distributed");
        }
        (self.at(kw::GLOBAL) || self.spelled("single")) && !self.next_is_punct(b'=')
    }

    fn placement_kind(&mut self) -> Read<PlacementKind<'a>> {
        if self.eat(kw::GLOBAL) {
            return Ok(PlacementKind::Global);
        }
        if self.eat_spelled("single") {
            if !self.eat(kw::ON) {
                return Ok(PlacementKind::Single(None));
            }
            return self.of_form(SINGLE, |parser| {
                parser.expect_spelled("shard")?;
                Ok(PlacementKind::Single(Some(parser.ident_or_string()?)))
            });
        }
        if self.eat_spelled("distributed") {
            return self.of_form("DISTRIBUTED BY (shard)", |parser| {
                parser.expect(kw::BY)?;
                parser.expect_punct(b'(')?;
                let shard = parser.ident_or_string()?;
                parser.expect_punct(b')')?;
                Ok(PlacementKind::Single(Some(shard)))
            });
        }
        if !self.eat_spelled("shard") {
            return self.stop(Expected::What("SHARD BY, GLOBAL or SINGLE"));
        }
        self.expect(kw::BY)?;
        let shard_by = self.shard_by()?;
        Ok(PlacementKind::Sharded(self.alloc(shard_by)))
    }

    fn shard_by(&mut self) -> Read<ShardBy<'a>> {
        let (method, form) = match self.expect_any(&[kw::HASH, kw::RANGE, kw::LIST, kw::YEAR, kw::MONTH, kw::DAY])? {
            kw::HASH => (ShardMethod::Hash, HASH),
            kw::RANGE => (ShardMethod::Range, RANGE),
            kw::LIST => (ShardMethod::List, LIST),
            kw::YEAR => (ShardMethod::Year, PERIOD),
            kw::MONTH => (ShardMethod::Month, PERIOD),
            _ => (ShardMethod::Day, PERIOD),
        };
        self.of_form(form, |parser| {
            let columns = parser.names_in_parentheses()?;
            let count = if parser.eat(kw::PARTITIONS) { Some(parser.expect_integer()?) } else { None };
            let parts = if parser.at_punct(b'(') { parser.parenthesised(Self::shard_part)? } else { &[] };
            Ok(ShardBy { method, columns, count, parts })
        })
    }

    /// `shard VALUES LESS THAN (10)`, `shard VALUES IN (1, 2)`, `shard DEFAULT`.
    fn shard_part(&mut self) -> Read<ShardPart<'a>> {
        let start = self.start();
        let shard: Ident<'a> = self.ident_or_string()?;
        let values = match self.partition_values()? {
            Some(values @ (PartitionValues::LessThan(_) | PartitionValues::In(_) | PartitionValues::Default)) => values,
            _ => return self.stop(Expected::Words(&[kw::VALUES, kw::DEFAULT])),
        };
        Ok(ShardPart { span: self.span_from(start), shard, values })
    }

    /// `/*weir: clause */` between the token that was read last and the current one.
    /// Whether a comment of Weir's stands here.
    pub(super) fn at_comment_of_weir(&self) -> bool {
        let gap = self.cursor.previous().token.end..self.start();
        find_comment(self.text_of(Span { start: gap.start, end: gap.end })).is_some()
    }

    fn placement_comment(&mut self) -> Read<Option<Placement<'a>>> {
        self.of_form(COMMENT, Self::read_placement_comment)
    }

    fn read_placement_comment(&mut self) -> Read<Option<Placement<'a>>> {
        let gap = self.cursor.previous().token.end..self.start();
        let Some(comment) = find_comment(self.text_of(Span { start: gap.start, end: gap.end })) else {
            return Ok(None);
        };
        let span = Span { start: gap.start + comment.start as u32, end: gap.start + comment.end as u32 };
        let clause = span.start as usize + comment.mark..span.end as usize - 2;
        let outside = self.cursor;
        self.cursor = Cursor::over(Lexer::within(self.sql, clause, self.mode));
        let kind = self.placement_kind()?;
        let unchecked = self.unchecked_keys()?;
        if self.kind() != TokenKind::End {
            return self.stop(Expected::What("the end of the comment"));
        }
        self.cursor = outside;
        self.cursor.extend_previous(span.end);
        Ok(Some(Placement { span, in_comment: true, kind, unchecked }))
    }
}

/// Where a comment of Weir's is, and how many bytes come before its clause.
struct Comment {
    start: usize,
    end: usize,
    mark: usize,
}

/// The first comment of Weir's in bytes that hold nothing but spaces and comments.
fn find_comment(gap: &[u8]) -> Option<Comment> {
    const MARK: &[u8] = b"weir:";
    let mut at = 0;
    while at < gap.len() {
        let rest = &gap[at..];
        at += match rest {
            [b'/', b'*', b'!' | b'M', ..] => 2,
            [b'/', b'*', body @ ..] => {
                let length = 2 + body.windows(2).position(|pair| pair == b"*/")? + 2;
                let spaces = body.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let marked = body[spaces..].get(..MARK.len()).is_some_and(|word| word.eq_ignore_ascii_case(MARK));
                if marked && 2 + spaces + MARK.len() + 2 <= length {
                    return Some(Comment { start: at, end: at + length, mark: 2 + spaces + MARK.len() });
                }
                length
            }
            [b'#', ..] | [b'-', b'-', ..] => 1 + memchr::memchr(b'\n', rest).unwrap_or(rest.len() - 1),
            _ => 1,
        };
    }
    None
}
