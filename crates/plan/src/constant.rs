//! The value of an expression that is the same for all rows, where it can be computed without a server.
//!
//! What must always hold: a value is exactly the one that the server would compute; otherwise it is `None`. Arithmetic is done only where
//! no overflow, rounding or unsigned result is possible.

use weir_catalog::{Constant, ShardId};
use weir_sql::ast::{BinaryOp, DataType, Expr, ExprKind, Literal, Span, Temporal, UnaryOp};
use weir_wire::charset::has_ascii;

use crate::SessionFacts;
use crate::known::{KnownValue, Source};
use crate::trace::Trace;

/// Deeper expressions are not folded.
const DEEPEST: usize = 16;

/// What expressions are folded with.
#[derive(Clone, Copy)]
pub(crate) struct Folder<'a> {
    /// The text that spans are of.
    pub(crate) text: &'a [u8],
    /// The session.
    pub(crate) session: &'a SessionFacts<'a>,
    /// The statement assigns user variables, so that their values aren't known while it runs.
    pub(crate) assigns: bool,
    /// Who takes down what is read.
    pub(crate) trace: Option<&'a Trace<'a>>,
}

impl Folder<'_> {
    /// The value of an expression.
    pub(crate) fn fold(&self, expr: &Expr<'_>) -> Option<KnownValue> {
        self.folded(expr, DEEPEST).map(|known| self.read(known))
    }

    /// The same, for those who look at nothing but whether it is NULL, and give it to who finds rows by it.
    pub(crate) fn fold_unread(&self, expr: &Expr<'_>) -> Option<KnownValue> {
        self.folded(expr, DEEPEST)
    }

    /// See [`SessionFacts::home`].
    pub(crate) fn home(&self) -> ShardId {
        if let Some(trace) = self.trace {
            trace.looks_home();
        }
        self.session.home
    }

    /// Takes down that a value is looked at.
    fn read(&self, known: KnownValue) -> KnownValue {
        if let Some(trace) = self.trace {
            trace.pin(known.source);
        }
        KnownValue { source: None, ..known }
    }

    /// The value of an integer expression that is not negative: LIMIT's.
    pub(crate) fn count(&self, expr: &Expr<'_>) -> Option<u64> {
        match self.fold(expr)?.constant {
            Constant::Integer(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    fn folded(&self, expr: &Expr<'_>, depth: usize) -> Option<KnownValue> {
        let depth = depth.checked_sub(1)?;
        let read = |expr| self.folded(expr, depth).map(|known| self.read(known).constant);
        let constant = match &expr.kind {
            ExprKind::Literal(literal) => return self.literal(literal, expr.span),
            ExprKind::Parameter(place) => {
                let constant = self.session.parameters?.get(*place as usize)?.clone();
                let source = self.trace.map(|trace| trace.parameter(*place));
                return Some(KnownValue { constant, hexadecimal: false, number: None, source });
            }
            ExprKind::UserVariable(name) if !self.assigns => (self.session.variable)(name.name)?,
            ExprKind::Paren(inner) => return self.folded(inner, depth),
            ExprKind::Unary(UnaryOp::Plus, operand) => return self.folded(operand, depth),
            ExprKind::Unary(UnaryOp::Minus, operand) => return self.minus(self.folded(operand, depth)?),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (read(left)?, read(right)?);
                computed(*op, &left, &right)?
            }
            ExprKind::Collate(operand, collation) => collated(read(operand)?, collation.name)?,
            ExprKind::Cast(cast) if cast.at_time_zone.is_none() && !cast.array => {
                self.cast(read(&cast.expr)?, &cast.data_type)?
            }
            _ => return None,
        };
        Some(KnownValue { constant, hexadecimal: false, number: None, source: None })
    }

    fn minus(&self, known: KnownValue) -> Option<KnownValue> {
        // Plain literals are small enough for all of them to have a negative.
        let source = match (&known.constant, known.source) {
            (Constant::Integer(_), Some(source)) if self.trace.is_some_and(|trace| trace.is_literal(source)) => {
                Some(Source { negated: !source.negated, ..source })
            }
            _ => None,
        };
        let constant = if source.is_some() { known.constant } else { self.read(known).constant };
        Some(KnownValue { constant: negated(constant)?, hexadecimal: false, number: None, source })
    }

    fn literal(&self, literal: &Literal<'_>, span: Span) -> Option<KnownValue> {
        let source = self.trace.and_then(|trace| trace.literal(self.text, span));
        let text = span.text(self.text);
        let ascii = || std::str::from_utf8(text).ok();
        let constant = match literal {
            Literal::Null => Constant::Null,
            Literal::True => Constant::Integer(1),
            Literal::False => Constant::Integer(0),
            Literal::Integer => match ascii()?.parse::<i128>().ok().filter(|value| *value <= i128::from(u64::MAX)) {
                Some(value) => Constant::Integer(value),
                None => Constant::Decimal(ascii()?.to_owned()),
            },
            Literal::Decimal => Constant::Decimal(ascii()?.to_owned()),
            Literal::Float => Constant::Float(ascii()?.parse().ok()?),
            Literal::Hex | Literal::Bit => {
                let bytes = bytes_of(text)?;
                let is_text = self.session.mariadb && *literal == Literal::Hex && text.contains(&b'\'');
                let number = number_of(&bytes).filter(|_| !is_text);
                return Some(KnownValue { constant: Constant::Binary(bytes), hexadecimal: true, number, source: None });
            }
            Literal::String => {
                if !self.is_of_charset()
                    && let Some(trace) = self.trace
                {
                    trace.pin(source);
                }
                self.string(self.contents(text)?, None)?
            }
            Literal::Text(literal) => {
                let mut bytes = Vec::new();
                for part in literal.parts {
                    let part = part.text(self.text);
                    match part.first()? {
                        b'N' | b'n' => return None,
                        b'\'' | b'"' => bytes.extend(self.contents(part)?),
                        _ => bytes.extend(bytes_of(part)?),
                    }
                }
                self.string(bytes, literal.introducer.map(|introducer| introducer.name))?
            }
            Literal::Temporal(kind) => {
                let quote = text.iter().position(|byte| matches!(byte, b'\'' | b'"'))?;
                let value = String::from_utf8(self.contents(&text[quote..])?).ok()?;
                match kind {
                    Temporal::Date | Temporal::Timestamp => Constant::Temporal(value),
                    Temporal::Time => return None,
                }
            }
        };
        Some(KnownValue { constant, hexadecimal: false, number: None, source })
    }

    /// Whether literals are of the charset of the text: if not, it depends on their value what they are.
    fn is_of_charset(&self) -> bool {
        charset_of(self.session.collation) == canonical(self.session.charset)
    }

    /// A string of the client's charset, or of the one that stands before it.
    fn string(&self, bytes: Vec<u8>, introducer: Option<&[u8]>) -> Option<Constant> {
        let Some(introducer) = introducer else {
            let collation = self.session.collation;
            // What the server has to convert is not what stands here.
            let bytes = match self.is_of_charset()
                || bytes.is_ascii() && is_ascii_superset(collation) && has_ascii(self.session.charset)
            {
                true => bytes,
                false => weir_catalog::converted(&bytes, self.session.charset, collation)?,
            };
            return Some(Constant::Text { bytes, collation: collation.to_owned(), explicit: false });
        };
        let charset = std::str::from_utf8(introducer).ok()?.trim_start_matches('_').to_ascii_lowercase();
        if charset == "binary" {
            return Some(Constant::Binary(bytes));
        }
        let collation = (self.session.default_collation)(&charset)?;
        Some(Constant::Text { bytes, collation, explicit: false })
    }

    /// What is within the quotes of one string.
    pub(crate) fn contents(&self, text: &[u8]) -> Option<Vec<u8>> {
        let quote = *text.first()?;
        let inner = text.get(1..text.len().checked_sub(1)?)?;
        let escapes = !self.session.mode.no_backslash_escapes;
        if !(inner.contains(&quote) || escapes && inner.contains(&b'\\')) {
            return Some(inner.to_vec());
        }
        // There a byte that looks like a backslash may be the second one of a character.
        if self.session.mode.lead_bytes.has_pairs() {
            return None;
        }
        let mut contents = Vec::with_capacity(inner.len());
        let mut bytes = inner.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' if escapes => match bytes.next()? {
                    b'0' => contents.push(0),
                    b'b' => contents.push(8),
                    b'n' => contents.push(b'\n'),
                    b'r' => contents.push(b'\r'),
                    b't' => contents.push(b'\t'),
                    b'Z' => contents.push(26),
                    // They stay as they are: patterns of LIKE need them.
                    wild @ (b'%' | b'_') => contents.extend([b'\\', wild]),
                    other => contents.push(other),
                },
                byte if byte == quote => {
                    bytes.next();
                    contents.push(quote);
                }
                byte => contents.push(byte),
            }
        }
        Some(contents)
    }

    /// Casts that can't change the value.
    fn cast(&self, value: Constant, to: &DataType<'_>) -> Option<Constant> {
        if !to.arguments.is_empty() {
            return None;
        }
        let fits = |value: &Constant, name: &[u8]| match (value, name) {
            (Constant::Integer(value), b"SIGNED") => i64::try_from(*value).is_ok(),
            (Constant::Integer(value), b"UNSIGNED") => u64::try_from(*value).is_ok(),
            (Constant::Null, _) => true,
            _ => false,
        };
        match (value, &to.name.text(self.text).to_ascii_uppercase()[..]) {
            (Constant::Text { bytes, collation: own, .. }, b"CHAR") if to.collation.is_none() && !to.binary => {
                let collation = match to.charset {
                    None => self.session.collation.to_owned(),
                    // As types, ASCII and UNICODE stand for other character sets.
                    Some(charset) if charset.is("ascii") || charset.is("unicode") => return None,
                    Some(charset) => {
                        let charset = std::str::from_utf8(charset.name).ok()?.to_ascii_lowercase();
                        (self.session.default_collation)(canonical(&charset))?
                    }
                };
                // Against columns of other collations it is not what a literal is.
                let same = charset_of(&own) == charset_of(&collation);
                same.then_some(Constant::Text { bytes, collation, explicit: true })
            }
            (value, name) => fits(&value, name).then_some(value),
        }
    }
}

/// The charset of a collation, by its name.
pub(crate) fn charset_of(collation: &str) -> &str {
    canonical(collation.split('_').next().unwrap_or(collation))
}

fn canonical(charset: &str) -> &str {
    if charset.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { charset }
}

/// Whether ASCII text is the same bytes in the charset of a collation.
pub(crate) fn is_ascii_superset(collation: &str) -> bool {
    has_ascii(collation) && charset_of(collation) != "binary"
}

/// The number that these bytes are where a number is stored. Servers store the greatest one for more than eight.
fn number_of(bytes: &[u8]) -> Option<u64> {
    let fits = (1..=8).contains(&bytes.len());
    fits.then(|| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The bytes of `0xAF`, `x'AF'`, `0b1`, `b'1'`.
fn bytes_of(text: &[u8]) -> Option<Vec<u8>> {
    let (kind, digits) = match text {
        [b'0', kind, digits @ ..] => (kind, digits),
        [kind, b'\'', digits @ .., b'\''] => (kind, digits),
        _ => return None,
    };
    let (radix, per_byte) = match kind {
        b'x' | b'X' => (16, 2),
        b'b' | b'B' => (2, 8),
        _ => return None,
    };
    digits
        .rchunks(per_byte)
        .rev()
        .map(|chunk| u8::from_str_radix(std::str::from_utf8(chunk).ok()?, radix).ok())
        .collect()
}

fn negated(value: Constant) -> Option<Constant> {
    match value {
        // What no BIGINT holds becomes a DECIMAL.
        Constant::Integer(value) if -value < i128::from(i64::MIN) => Some(Constant::Decimal(format!("-{value}"))),
        Constant::Integer(value) => Some(Constant::Integer(-value)),
        Constant::Decimal(value) => Some(Constant::Decimal(match value.strip_prefix('-') {
            Some(value) => value.to_owned(),
            None => format!("-{value}"),
        })),
        Constant::Float(value) => Some(Constant::Float(-value)),
        Constant::Null => Some(Constant::Null),
        _ => None,
    }
}

/// Signed arithmetic of integers that stay signed.
fn computed(op: BinaryOp, left: &Constant, right: &Constant) -> Option<Constant> {
    let (Constant::Integer(left), Constant::Integer(right)) = (left, right) else { return None };
    let (left, right) = (i64::try_from(*left).ok()?, i64::try_from(*right).ok()?);
    let value = match op {
        BinaryOp::Add => left.checked_add(right)?,
        BinaryOp::Subtract => left.checked_sub(right)?,
        BinaryOp::Multiply => left.checked_mul(right)?,
        BinaryOp::IntegerDivide => left.checked_div(right)?,
        BinaryOp::Modulo => left.checked_rem(right)?,
        BinaryOp::Eq => i64::from(left == right),
        BinaryOp::Ne => i64::from(left != right),
        BinaryOp::Lt => i64::from(left < right),
        BinaryOp::Gt => i64::from(left > right),
        _ => return None,
    };
    Some(Constant::Integer(value.into()))
}

fn collated(value: Constant, collation: &[u8]) -> Option<Constant> {
    let collation = std::str::from_utf8(collation).ok()?.to_ascii_lowercase();
    match value {
        Constant::Text { bytes, collation: of_literal, .. } if charset_of(&of_literal) == charset_of(&collation) => {
            Some(Constant::Text { bytes, collation, explicit: true })
        }
        _ => None,
    }
}
