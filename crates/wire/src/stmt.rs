//! Prepared statements' packets: what must be known of them to forward them with another statement id.
//!
//! Parameter values are never decoded here: an execution's payload is cut into its head, the types of its
//! parameters and the rest, and put together again for the server.

use std::rc::Rc;

use crate::caps::{Capabilities, Command};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes};

mod pieces;

pub use pieces::piece;

/// The OK of COM_STMT_PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's id.
    pub id: u32,
    /// Columns of its result.
    pub columns: u16,
    /// Its parameters.
    pub params: u16,
    /// Warnings.
    pub warnings: u16,
}

impl PrepareOk {
    /// Where the statement id stands in the payload.
    pub const ID_AT: std::ops::Range<usize> = 1..5;
    /// Bytes of the shortest form, which has no warnings.
    pub const SHORTEST: usize = 10;

    /// Reads the payload.
    pub fn parse(payload: &[u8]) -> Result<PrepareOk, Malformed> {
        let mut r = Reader::new(payload);
        if r.u8("prepare header")? != 0 {
            return Err(Malformed("prepare header"));
        }
        let id = r.u32("statement id")?;
        let columns = r.u16("number of columns")?;
        let params = r.u16("number of parameters")?;
        r.u8("filler")?;
        let warnings = if r.is_empty() { 0 } else { r.u16("warnings")? };
        Ok(PrepareOk { id, columns, params, warnings })
    }

    /// The payload.
    pub fn encode(self) -> Vec<u8> {
        let mut out = vec![0];
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.params.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out
    }
}

/// The statement id that follows the command byte of COM_STMT_EXECUTE, FETCH, CLOSE, RESET and SEND_LONG_DATA.
pub fn statement_id(payload: &[u8]) -> Result<u32, Malformed> {
    let mut r = Reader::new(payload);
    r.u8("command")?;
    r.u32("statement id")
}

/// The flag of COM_STMT_EXECUTE that says that a parameter count follows (`PARAMETER_COUNT_AVAILABLE`).
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;
/// The flags of COM_STMT_EXECUTE that name a kind of cursor.
pub(crate) const CURSOR_TYPES: u8 = 0x07;
/// The only one of them that servers heed.
const CURSOR_TYPE_READ_ONLY: u8 = 0x01;

/// COM_STMT_EXECUTE, cut into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's id.
    pub id: u32,
    /// Cursor type and other flags.
    pub flags: u8,
    /// Parameters, query attributes included; 0 when the packet has no parameter part.
    pub params: u64,
    /// The NULL bitmap.
    nulls: &'a [u8],
    /// The types (and names) of the parameters, when the packet brings them.
    pub types: Option<&'a [u8]>,
    /// The values.
    values: &'a [u8],
    /// The parameter part is there at all.
    has_params: bool,
    /// The packet says how many parameters it has.
    counted: bool,
}

impl<'a> Execute<'a> {
    /// Cuts the payload (command byte included) of an execution of a statement with `params` parameters.
    pub fn parse(payload: &'a [u8], params: u16, capabilities: Capabilities) -> Result<Execute<'a>, Malformed> {
        let mut r = Reader::new(payload);
        r.u8("command")?;
        let id = r.u32("statement id")?;
        let flags = r.u8("execution flags")?;
        r.u32("iteration count")?;
        let attributes = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let mut count = u64::from(params);
        // The flag matters only for a statement without parameters of its own: MySQL Connector/Python never sets it.
        let counted = attributes && (params > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0);
        if counted {
            count = r.lenenc("parameter count")?;
        }
        let has_params = count > 0;
        if !has_params {
            return Ok(Execute {
                id,
                flags,
                params: 0,
                nulls: b"",
                types: None,
                values: r.rest(),
                has_params,
                counted,
            });
        }
        if count < u64::from(params) || count > u64::from(u16::MAX) {
            return Err(Malformed("parameter count"));
        }
        let nulls = r.bytes((count as usize).div_ceil(8), "NULL bitmap")?;
        let types = match r.u8("new parameters flag")? {
            0 => None,
            _ => Some(read_types(&mut r, count, attributes)?),
        };
        Ok(Execute { id, flags, params: count, nulls, types, values: r.take_rest(), has_params, counted })
    }

    /// The values that it brings, one after another.
    pub fn values(&self) -> &'a [u8] {
        self.values
    }

    /// Whether a parameter is NULL.
    pub fn is_null(&self, at: usize) -> bool {
        self.nulls.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0)
    }

    /// The same, with its rows sent at once.
    pub fn without_cursor(self) -> Self {
        Execute { flags: self.flags & !CURSOR_TYPES, ..self }
    }

    /// Whether it asks for a cursor.
    pub fn opens_cursor(&self) -> bool {
        self.flags & CURSOR_TYPE_READ_ONLY != 0
    }

    /// The types of an execution that brings none and needs none, as each of its parameters is NULL. Connector/J begins
    /// with such an execution.
    pub fn types_of_nulls(&self, named: bool) -> Option<Vec<u8>> {
        let count = self.params as usize;
        let without_a_name: &[u8] = if named { &[TYPE_NULL, 0, 0] } else { &[TYPE_NULL, 0] };
        (count > 0 && (0..count).all(|at| self.is_null(at))).then(|| without_a_name.repeat(count))
    }

    /// The payload for the server: its own statement id, and `types` (those that this statement was last executed
    /// with, in the form of [`Execute::types`]) when they have to be sent.
    pub fn encode(&self, id: u32, types: Option<&[u8]>) -> Vec<u8> {
        let extra = types.map_or(0, <[u8]>::len);
        let mut out = Vec::with_capacity(32 + self.nulls.len() + extra + self.values.len());
        self.encode_into(&mut out, id, types);
        out
    }

    /// As [`Execute::encode`], to the end of a buffer.
    pub fn encode_into(&self, out: &mut Vec<u8>, id: u32, types: Option<&[u8]>) {
        out.push(Command::StmtExecute as u8);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(self.flags);
        out.extend_from_slice(&1_u32.to_le_bytes());
        if self.counted {
            put_lenenc(out, self.params);
        }
        if self.has_params {
            out.extend_from_slice(self.nulls);
            out.push(u8::from(types.is_some()));
            out.extend_from_slice(types.unwrap_or_default());
        }
        out.extend_from_slice(self.values);
    }
}

/// An execution with some of another one's parameters, in another order.
#[derive(Debug, Clone)]
pub struct Picked {
    flags: u8,
    count: u64,
    counted: bool,
    nulls: Vec<u8>,
    values: Vec<u8>,
    /// Their types, in the form of [`Execute::types`].
    pub types: Rc<[u8]>,
}

impl Execute<'_> {
    /// The execution with these of its parameters, whose types are `types`. Query attributes are left out.
    ///
    /// # Errors
    /// When there is no such parameter, or the packet is cut short.
    pub fn pick(&self, which: &[u32], types: &[u8], named: bool) -> Result<Picked, Malformed> {
        let (mut kinds, mut values) = (Reader::new(types), Reader::new(self.values));
        let mut parameters = Vec::with_capacity(self.params as usize);
        for at in 0..self.params as usize {
            let is_null = self.nulls.get(at / 8).is_none_or(|nulls| nulls & (1 << (at % 8)) != 0);
            let start = kinds.rest();
            let kind = kinds.u16("parameter type")? as u8;
            if named {
                kinds.lenenc_bytes("parameter name")?;
            }
            let value = values.rest();
            if !is_null {
                skip_value(&mut values, kind)?;
            }
            let kind = &start[..start.len() - kinds.rest().len()];
            parameters.push((kind, is_null, &value[..value.len() - values.rest().len()]));
        }
        let (mut nulls, mut values, mut types) = (vec![0; which.len().div_ceil(8)], Vec::new(), Vec::new());
        for (at, parameter) in which.iter().enumerate() {
            let parameter = parameters.get(*parameter as usize).ok_or(Malformed("parameter"))?;
            let (kind, is_null, value) = *parameter;
            nulls[at / 8] |= u8::from(is_null) << (at % 8);
            types.extend_from_slice(kind);
            values.extend_from_slice(value);
        }
        let (flags, count, counted) = (self.flags, which.len() as u64, self.counted);
        Ok(Picked { flags, count, counted, nulls, values, types: types.into() })
    }
}

impl Picked {
    /// With a text as a parameter before all others. `named`: query attributes were negotiated.
    pub fn behind_text(mut self, text: &[u8], named: bool) -> Picked {
        let count = self.count as usize + 1;
        let mut nulls = vec![0; count.div_ceil(8)];
        for at in 1..count {
            let is_null = self.nulls[(at - 1) / 8] & (1 << ((at - 1) % 8)) != 0;
            nulls[at / 8] |= u8::from(is_null) << (at % 8);
        }
        let kind: &[u8] = if named { &[TYPE_VAR_STRING, 0, 0] } else { &[TYPE_VAR_STRING, 0] };
        let mut values = Vec::with_capacity(text.len() + self.values.len() + 9);
        put_lenenc_bytes(&mut values, text);
        values.append(&mut self.values);
        Picked {
            flags: self.flags,
            count: count as u64,
            counted: named,
            nulls,
            values,
            types: [kind, &self.types].concat().into(),
        }
    }

    /// How many parameters it has.
    pub fn count(&self) -> u32 {
        u32::try_from(self.count).unwrap_or(u32::MAX)
    }

    /// The execution.
    pub fn execute(&self) -> Execute<'_> {
        let has_params = self.count > 0;
        Execute {
            id: 0,
            flags: self.flags,
            params: self.count,
            nulls: &self.nulls,
            types: has_params.then_some(&self.types),
            values: &self.values,
            has_params,
            counted: self.counted,
        }
    }
}

/// Reads the types of `count` parameters, with their names when query attributes were negotiated.
fn read_types<'a>(r: &mut Reader<'a>, count: u64, named: bool) -> Result<&'a [u8], Malformed> {
    let start = r.rest();
    for _ in 0..count {
        r.u16("parameter type")?;
        if named {
            r.lenenc_bytes("parameter name")?;
        }
    }
    Ok(&start[..start.len() - r.rest().len()])
}

/// The type of a text. Source: MySQL, `MYSQL_TYPE_VAR_STRING`.
const TYPE_VAR_STRING: u8 = 0xfd;

/// The type of a parameter that was given as NULL without a type. Source: MySQL, `MYSQL_TYPE_NULL`.
const TYPE_NULL: u8 = 0x06;

/// Gives untyped NULLs the types that the session's earlier executions gave them, as MySQL does on the connection that ran
/// those; `known` is kept up to date for the first parameters of the statement. Returns whether an untyped NULL is left,
/// whose type the server takes from whatever it executed before.
///
/// # Errors
/// When `types` (of [`Execute::types`]) is too short.
pub fn settle_null_types(types: &mut [u8], known: &mut [Option<[u8; 2]>], named: bool) -> Result<bool, Malformed> {
    let mut at = 0;
    let mut untyped = false;
    for known in known {
        let slot = types.get_mut(at..at + 2).ok_or(Malformed("parameter type"))?;
        match (slot[0], &known) {
            (TYPE_NULL, Some(kind)) => slot.copy_from_slice(kind),
            (TYPE_NULL, None) => untyped = true,
            _ => *known = Some([slot[0], slot[1]]),
        }
        at += 2;
        if named {
            let mut r = Reader::new(&types[at..]);
            r.lenenc_bytes("parameter name")?;
            at = types.len() - r.rest().len();
        }
    }
    Ok(untyped)
}

/// Whether there is an untyped NULL among these types (of [`Execute::types`]): see [`settle_null_types`].
pub fn has_untyped(types: &[u8], named: bool) -> bool {
    let mut r = Reader::new(types);
    while let Ok(kind) = r.u16("parameter type") {
        let name = if named { r.lenenc_bytes("parameter name") } else { Ok(&b""[..]) };
        if kind as u8 == TYPE_NULL || name.is_err() {
            return true;
        }
    }
    false
}

/// The text of COM_QUERY, after its attributes (which a client that negotiated them sends before it). The payload
/// includes the command byte; returns where the text begins.
pub fn query_text_at(payload: &[u8], capabilities: Capabilities) -> Result<usize, Malformed> {
    if !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
        return Ok(1);
    }
    let mut r = Reader::new(payload);
    r.u8("command")?;
    let count = r.lenenc("attribute count")?;
    r.lenenc("attribute set count")?;
    if count > 0 {
        if count > u64::from(u16::MAX) {
            return Err(Malformed("attribute count"));
        }
        let nulls = r.bytes((count as usize).div_ceil(8), "NULL bitmap")?;
        r.u8("new parameters flag")?;
        let types = read_types(&mut r, count, true)?;
        skip_values(&mut r, types, nulls, count)?;
    }
    Ok(payload.len() - r.rest().len())
}

/// Skips the binary values of query attributes. Source: MySQL, "Binary Protocol Value".
fn skip_values(r: &mut Reader<'_>, types: &[u8], nulls: &[u8], count: u64) -> Result<(), Malformed> {
    let mut t = Reader::new(types);
    for i in 0..count as usize {
        let kind = t.u16("attribute type")? as u8;
        t.lenenc_bytes("attribute name")?;
        if nulls[i / 8] & (1 << (i % 8)) != 0 {
            continue;
        }
        skip_value(r, kind)?;
    }
    Ok(())
}

/// Skips one binary value of this type.
fn skip_value(r: &mut Reader<'_>, kind: u8) -> Result<(), Malformed> {
    let fixed = match kind {
        0x01 => 1,
        0x02 | 0x0d => 2,
        0x03 | 0x04 | 0x09 => 4,
        0x05 | 0x08 => 8,
        0x06 => 0,
        0x07 | 0x0a | 0x0b | 0x0c => usize::from(r.u8("time length")?),
        0x0f | 0x10 | 0xf5..=0xff | 0x00 => {
            r.lenenc_bytes("attribute value")?;
            0
        }
        _ => return Err(Malformed("attribute type")),
    };
    r.bytes(fixed, "attribute value")?;
    Ok(())
}

/// COM_QUERY's payload for `text`, without attributes.
pub fn query_payload(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 3);
    out.push(Command::Query as u8);
    if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
        out.extend_from_slice(&[0, 1]);
    }
    out.extend_from_slice(text);
    out
}

#[cfg(test)]
mod tests;
