//! ALTER TABLE.

use super::super::{Expected, Parser, Read};
use crate::ast::{
    AlterAction, AlterActionKind, AlterColumn, AlterColumnSetting, AlterTable, Check, ColumnPosition, ColumnSetting,
    Dropped, Ident, OrderItem, StatementKind, TableElement,
};
use crate::kw;

impl<'a> Parser<'a> {
    /// ALTER TABLE.
    pub(in crate::parse) fn alter_table(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::ALTER)?;
        let online = self.eat_any(&[kw::ONLINE, kw::OFFLINE]) == Some(kw::ONLINE);
        let ignore = self.eat(kw::IGNORE);
        self.expect(kw::TABLE)?;
        let if_exists = self.if_exists()?;
        let table = self.object_name()?;
        let wait = self.wait()?;
        let actions = self.alter_actions()?;
        let node = AlterTable { online, ignore, if_exists, table, wait, actions };
        Ok(StatementKind::AlterTable(self.alloc(node)))
    }

    /// Actions with commas between them. Options of the table may do without, and so does partitioning at the end.
    fn alter_actions(&mut self) -> Read<&'a [AlterAction<'a>]> {
        let (mut needed, mut first) = (false, true);
        self.several(|parser| {
            if parser.at_end() && !needed {
                // Beside other actions it is a comment like any other.
                let comment = if std::mem::take(&mut first) { parser.new_placement_in_comment()? } else { None };
                return Ok(comment.map(|found| {
                    let kind = AlterActionKind::Place(parser.alloc(found));
                    AlterAction { span: found.span, kind }
                }));
            }
            first = false;
            let action = parser.alter_action()?;
            needed = parser.eat_punct(b',');
            let may_follow = needed
                || parser.at_partition_by()
                || parser.at(kw::REMOVE)
                || parser.at_end()
                || parser.at_table_option();
            if may_follow { Ok(Some(action)) } else { parser.stop(Expected::Punct(b',')) }
        })
    }

    fn alter_action(&mut self) -> Read<AlterAction<'a>> {
        let start = self.start();
        let kind = match self.word() {
            kw::ADD => self.alter_add()?,
            kw::DROP => self.alter_drop()?,
            kw::MODIFY => {
                self.advance();
                self.eat(kw::COLUMN);
                let conditional = self.if_exists()?;
                AlterActionKind::ModifyColumn(self.alter_column_to(conditional)?)
            }
            kw::CHANGE => {
                self.advance();
                self.eat(kw::COLUMN);
                let conditional = self.if_exists()?;
                let old = self.column_name()?.name;
                AlterActionKind::ChangeColumn(old, self.alter_column_to(conditional)?)
            }
            kw::ALTER => self.alter_alter()?,
            kw::RENAME => self.alter_rename()?,
            kw::ORDER => {
                self.expect_all(&[kw::ORDER, kw::BY])?;
                AlterActionKind::OrderBy(self.list(Self::alter_order_item)?)
            }
            kw::CONVERT => self.alter_convert()?,
            kw::PARTITION if self.at_partition_by() => {
                let partitioning = self.partitioning()?;
                AlterActionKind::PartitionBy(self.alloc(partitioning))
            }
            _ => self.alter_rest()?,
        };
        Ok(AlterAction { span: self.span_from(start), kind })
    }

    /// Actions of few words, options, partitions.
    fn alter_rest(&mut self) -> Read<AlterActionKind<'a>> {
        let word = self.word();
        if let Some(operation) = self.partition_operation()? {
            return Ok(AlterActionKind::Partitions(self.alloc(operation)));
        }
        if self.at_placement() {
            let placement = self.new_placement()?;
            return Ok(AlterActionKind::Place(self.alloc(placement)));
        }
        match word {
            kw::ENABLE | kw::DISABLE if self.next_is(kw::KEYS) => {
                self.advance();
                self.advance();
                Ok(if word == kw::ENABLE { AlterActionKind::EnableKeys } else { AlterActionKind::DisableKeys })
            }
            kw::DISCARD | kw::IMPORT if self.next_is(kw::TABLESPACE) => {
                self.advance();
                self.advance();
                let discard = word == kw::DISCARD;
                Ok(if discard { AlterActionKind::DiscardTablespace } else { AlterActionKind::ImportTablespace })
            }
            kw::FORCE => {
                self.advance();
                Ok(AlterActionKind::Force)
            }
            kw::ALGORITHM | kw::LOCK => {
                self.advance();
                self.optional_equal();
                let how = self.any_word()?;
                Ok(if word == kw::LOCK { AlterActionKind::Lock(how) } else { AlterActionKind::Algorithm(how) })
            }
            kw::WITH | kw::WITHOUT if self.next_is(kw::VALIDATION) => {
                self.advance();
                self.advance();
                Ok(AlterActionKind::Validation(word == kw::WITH))
            }
            kw::SECONDARY_LOAD | kw::SECONDARY_UNLOAD => {
                self.advance();
                Ok(AlterActionKind::SecondaryLoad(word == kw::SECONDARY_LOAD))
            }
            kw::REMOVE => {
                self.advance();
                self.expect_spelled("partitioning")?;
                Ok(AlterActionKind::RemovePartitioning)
            }
            _ => match self.table_option()? {
                Some(option) => Ok(AlterActionKind::Option(self.alloc(option))),
                None => self.stop(Expected::What("an action of ALTER TABLE")),
            },
        }
    }

    fn alter_add(&mut self) -> Read<AlterActionKind<'a>> {
        if self.next_is(kw::PARTITION) {
            let operation = self.add_partition()?;
            return Ok(AlterActionKind::Partitions(self.alloc(operation)));
        }
        self.expect(kw::ADD)?;
        if self.at(kw::SYSTEM) && self.next_spelled("versioning") {
            self.advance();
            self.advance();
            return Ok(AlterActionKind::AddSystemVersioning);
        }
        if self.at(kw::CONSTRAINT) && self.next_is(kw::IF) {
            return self.add_constraint_if_not_exists();
        }
        if self.at(kw::PERIOD) && (self.next_is(kw::FOR) || self.next_is(kw::IF)) {
            let period = self.period_definition()?;
            return Ok(AlterActionKind::AddPeriod(self.alloc(period)));
        }
        let column = self.eat(kw::COLUMN);
        let conditional = self.if_not_exists()?;
        if self.at_punct(b'(') {
            return Ok(AlterActionKind::AddElements(self.parenthesised(Self::table_element)?));
        }
        if column || conditional {
            return Ok(AlterActionKind::AddColumn(self.alter_column_to(conditional)?));
        }
        Ok(match self.table_element()? {
            TableElement::Column(definition) => {
                let position = self.column_position()?;
                AlterActionKind::AddColumn(self.alloc(AlterColumn { conditional, definition: *definition, position }))
            }
            TableElement::Key(key) => AlterActionKind::AddKey(key),
            TableElement::ForeignKey(key) => AlterActionKind::AddForeignKey(key),
            TableElement::Check(check) => AlterActionKind::AddCheck(check),
            TableElement::Period(period) => AlterActionKind::AddPeriod(period),
        })
    }

    /// `CONSTRAINT IF NOT EXISTS name CHECK (expr)`.
    fn add_constraint_if_not_exists(&mut self) -> Read<AlterActionKind<'a>> {
        let start = self.start();
        self.expect(kw::CONSTRAINT)?;
        let if_not_exists = self.if_not_exists()?;
        let name = Some(self.ident()?);
        let constraint = Some(crate::ast::Constraint { span: self.span_from(start), name });
        let check = Check { if_not_exists, ..self.check(start, constraint)? };
        Ok(AlterActionKind::AddCheck(self.alloc(check)))
    }

    fn alter_column_to(&mut self, conditional: bool) -> Read<&'a AlterColumn<'a>> {
        let definition = self.column_definition()?;
        let position = self.column_position()?;
        Ok(self.alloc(AlterColumn { conditional, definition, position }))
    }

    fn column_position(&mut self) -> Read<Option<ColumnPosition<'a>>> {
        if self.eat(kw::FIRST) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat(kw::AFTER) {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_drop(&mut self) -> Read<AlterActionKind<'a>> {
        if self.next_is(kw::PARTITION) {
            let operation = self.drop_partition()?;
            return Ok(AlterActionKind::Partitions(self.alloc(operation)));
        }
        self.expect(kw::DROP)?;
        match self.word() {
            kw::PRIMARY => {
                self.expect_all(&[kw::PRIMARY, kw::KEY])?;
                Ok(AlterActionKind::DropPrimaryKey)
            }
            kw::INDEX | kw::KEY => {
                self.advance();
                Ok(AlterActionKind::DropKey(self.dropped()?))
            }
            kw::FOREIGN => {
                self.expect_all(&[kw::FOREIGN, kw::KEY])?;
                Ok(AlterActionKind::DropForeignKey(self.dropped()?))
            }
            kw::CONSTRAINT => {
                self.advance();
                if self.eat_all(&[kw::PRIMARY, kw::KEY]) {
                    return Ok(AlterActionKind::DropPrimaryKey);
                }
                Ok(AlterActionKind::DropConstraint(self.dropped()?))
            }
            kw::CHECK => {
                self.advance();
                Ok(AlterActionKind::DropCheck(self.dropped()?))
            }
            kw::SYSTEM if self.next_spelled("versioning") => {
                self.advance();
                self.advance();
                Ok(AlterActionKind::DropSystemVersioning)
            }
            kw::PERIOD if self.next_is(kw::FOR) || self.next_is(kw::IF) => {
                self.advance();
                let if_exists = self.if_exists()?;
                self.expect(kw::FOR)?;
                Ok(AlterActionKind::DropPeriod(Dropped { if_exists, name: self.ident()? }))
            }
            _ => {
                self.eat(kw::COLUMN);
                let dropped = self.dropped()?;
                self.eat_any(&[kw::RESTRICT, kw::CASCADE]);
                Ok(AlterActionKind::DropColumn(dropped))
            }
        }
    }

    fn dropped(&mut self) -> Read<Dropped<'a>> {
        let if_exists = self.if_exists()?;
        Ok(Dropped { if_exists, name: self.column_name()?.name })
    }

    fn alter_alter(&mut self) -> Read<AlterActionKind<'a>> {
        self.expect(kw::ALTER)?;
        match self.word() {
            kw::INDEX | kw::KEY => {
                self.advance();
                self.if_exists()?;
                let name = self.ident()?;
                let used = match self.expect_any(&[kw::VISIBLE, kw::INVISIBLE, kw::IGNORED, kw::NOT])? {
                    kw::NOT => {
                        self.expect(kw::IGNORED)?;
                        true
                    }
                    word => word == kw::VISIBLE,
                };
                Ok(AlterActionKind::AlterKey(name, used))
            }
            kw::CHECK | kw::CONSTRAINT => {
                self.advance();
                let name = self.ident()?;
                let enforced = !self.eat(kw::NOT);
                self.expect(kw::ENFORCED)?;
                Ok(AlterActionKind::AlterConstraint(name, enforced))
            }
            _ => {
                self.eat(kw::COLUMN);
                let if_exists = self.if_exists()?;
                let column = self.column_name()?.name;
                let change = self.column_setting()?;
                Ok(AlterActionKind::AlterColumn(self.alloc(AlterColumnSetting { if_exists, column, change })))
            }
        }
    }

    fn column_setting(&mut self) -> Read<ColumnSetting<'a>> {
        if self.expect_any(&[kw::SET, kw::DROP])? == kw::DROP {
            self.expect(kw::DEFAULT)?;
            return Ok(ColumnSetting::DropDefault);
        }
        Ok(match self.expect_any(&[kw::DEFAULT, kw::VISIBLE, kw::INVISIBLE])? {
            kw::VISIBLE => ColumnSetting::SetVisible,
            kw::INVISIBLE => ColumnSetting::SetInvisible,
            _ => ColumnSetting::SetDefault(self.default_value()?),
        })
    }

    fn alter_rename(&mut self) -> Read<AlterActionKind<'a>> {
        self.expect(kw::RENAME)?;
        match self.eat_any(&[kw::COLUMN, kw::INDEX, kw::KEY]) {
            Some(word) => {
                self.if_exists()?;
                let from: Ident<'a> = self.ident()?;
                self.expect(kw::TO)?;
                let to = self.ident()?;
                let column = word == kw::COLUMN;
                Ok(if column { AlterActionKind::RenameColumn(from, to) } else { AlterActionKind::RenameKey(from, to) })
            }
            None => {
                if self.eat_any(&[kw::TO, kw::AS]).is_none() {
                    self.optional_equal();
                }
                Ok(AlterActionKind::RenameTable(self.object_name()?))
            }
        }
    }

    fn alter_convert(&mut self) -> Read<AlterActionKind<'a>> {
        if self.next_is(kw::PARTITION) || self.next_is(kw::TABLE) {
            let operation = self.convert_partition()?;
            return Ok(AlterActionKind::Partitions(self.alloc(operation)));
        }
        self.expect_all(&[kw::CONVERT, kw::TO])?;
        self.charset_words()?;
        let charset = self.charset_unless_default()?;
        let collation = if self.eat(kw::COLLATE) { self.charset_unless_default()? } else { None };
        Ok(AlterActionKind::ConvertCharset(charset, collation))
    }

    /// A column with ASC or DESC.
    fn alter_order_item(&mut self) -> Read<OrderItem<'a>> {
        let start = self.start();
        let name = self.column_name()?;
        let kind = crate::ast::ExprKind::Column(self.alloc(name));
        let expr = crate::ast::Expr { span: self.span_from(start), kind };
        let descending = self.eat_any(&[kw::ASC, kw::DESC]) == Some(kw::DESC);
        Ok(OrderItem { span: self.span_from(start), expr, descending })
    }
}
