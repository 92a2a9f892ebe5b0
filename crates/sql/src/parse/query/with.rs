//! WITH.

use crate::ast::{CommonTable, With};
use crate::kw;

use super::super::{Parser, Read};

impl<'a> Parser<'a> {
    /// `WITH [RECURSIVE] table, …`.
    pub(crate) fn with_clause(&mut self) -> Read<&'a With<'a>> {
        let start = self.start();
        self.expect(kw::WITH)?;
        let recursive = self.eat(kw::RECURSIVE);
        let tables = self.list(Self::common_table)?;
        let with = With { span: self.span_from(start), recursive, tables };
        Ok(self.alloc(with))
    }

    /// `name [(columns)] AS (query) [CYCLE columns RESTRICT]`.
    fn common_table(&mut self) -> Read<CommonTable<'a>> {
        let start = self.start();
        let name = self.ident()?;
        let columns = if self.at_punct(b'(') { self.parenthesised(Self::ident)? } else { &[] };
        self.expect(kw::AS)?;
        let query = self.parenthesised_query()?;
        let mut cycle: &[_] = &[];
        if self.eat(kw::CYCLE) {
            cycle = self.list(Self::ident)?;
            self.expect(kw::RESTRICT)?;
        }
        Ok(CommonTable { span: self.span_from(start), name, columns, query, cycle })
    }
}
