//! Reading and writing the protocol's integers and strings.
//!
//! A [`Reader`] never reads past its slice: whatever does not fit is [`Malformed`].

/// The bytes are not what the protocol says they must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {0}")]
pub struct Malformed(
    /// What was being read.
    pub &'static str,
);

/// A cursor over one payload.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all is read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        if n > self.rest.len() {
            return Err(Malformed(what));
        }
        let (head, tail) = self.rest.split_at(n);
        self.rest = tail;
        Ok(head)
    }

    /// The next `N` bytes as an array.
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N, what)?);
        Ok(out)
    }

    /// A byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(what)?[0])
    }

    /// A little-endian 16-bit integer.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// A little-endian 32-bit integer.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// A length-encoded integer. The NULL marker 0xFB and the invalid 0xFF are malformed here.
    pub fn lenenc(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.u8(what)? {
            first @ 0..=0xfa => Ok(u64::from(first)),
            0xfc => Ok(u64::from(self.u16(what)?)),
            0xfd => {
                let b = self.array::<3>(what)?;
                Ok(u64::from(u32::from_le_bytes([b[0], b[1], b[2], 0])))
            }
            0xfe => Ok(u64::from_le_bytes(self.array(what)?)),
            _ => Err(Malformed(what)),
        }
    }

    /// A string with a length-encoded length.
    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let n = usize::try_from(self.lenenc(what)?).map_err(|_| Malformed(what))?;
        self.bytes(n, what)
    }

    /// A text row's cell: `None` is NULL.
    pub fn cell(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xfb) {
            self.u8(what)?;
            return Ok(None);
        }
        self.lenenc_bytes(what).map(Some)
    }

    /// A string that ends with a NUL byte (which is read and left out).
    pub fn nul_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let n = memchr::memchr(0, self.rest).ok_or(Malformed(what))?;
        let out = &self.rest[..n];
        self.rest = &self.rest[n + 1..];
        Ok(out)
    }

    /// A string that ends with a NUL byte or with the payload.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        let n = memchr::memchr(0, self.rest).unwrap_or(self.rest.len());
        let out = &self.rest[..n];
        self.rest = self.rest.get(n + 1..).unwrap_or_default();
        out
    }

    /// All that is left.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a string with a length-encoded length.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a string and a NUL byte.
pub fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}
