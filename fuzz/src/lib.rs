//! What the targets share: reading choices off the front of an input, and cutting streams into chunks.
//!
//! Inputs are laid out by hand (a few bytes of choices, then the bytes under test) so that seeds can be real packets with
//! a short prefix.

use weir_sql::{Dialect, LeadBytes, LexMode};
use weir_wire::caps::Capabilities;

/// An input that is read from the front. What is missing at its end reads as zero.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.block(1).first().copied().unwrap_or_default()
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        let block = self.block(8);
        bytes[..block.len()].copy_from_slice(block);
        u64::from_le_bytes(bytes)
    }

    /// The capabilities that the peers would have negotiated.
    pub fn capabilities(&mut self) -> Capabilities {
        Capabilities::from_bits_truncate(self.u64())
    }

    /// How a server would read a text: one byte, 0 for the defaults.
    pub fn lex_mode(&mut self) -> LexMode {
        let byte = self.byte();
        let lead_bytes = [LeadBytes::None, LeadBytes::Big5, LeadBytes::Gbk, LeadBytes::Sjis];
        let dialects = [Dialect::Either, Dialect::MySql, Dialect::MariaDb];
        LexMode {
            ansi_quotes: byte & 1 != 0,
            no_backslash_escapes: byte & 2 != 0,
            pipes_as_concat: (byte >> 5) / 3 == 1,
            high_not_precedence: (byte >> 5) / 3 == 2,
            ignore_space: byte & 4 != 0,
            lead_bytes: lead_bytes[usize::from(byte >> 3) % 4],
            dialect: dialects[usize::from(byte >> 5) % 3],
            version: 0,
        }
    }

    /// One of `choices`.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()].clone()
    }

    /// Up to `len` bytes.
    pub fn block(&mut self, len: usize) -> &'a [u8] {
        let (block, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        block
    }

    /// A byte with a length, then so many bytes.
    pub fn short_block(&mut self) -> &'a [u8] {
        let len = self.byte();
        self.block(usize::from(len))
    }

    /// Blocks with a two-byte length each, until the input ends: a peer's packets.
    pub fn packets(&mut self) -> Vec<&'a [u8]> {
        let mut packets = Vec::new();
        while !self.0.is_empty() {
            let len = u16::from_le_bytes([self.byte(), self.byte()]);
            packets.push(self.block(usize::from(len)));
        }
        packets
    }
}

/// Cuts `stream` into chunks whose lengths are those of `cuts` plus one, over and over; one chunk if there are no cuts.
pub fn chunks<'a>(stream: &'a [u8], cuts: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = cuts.iter().map(|&cut| usize::from(cut) + 1).cycle();
    let mut rest = stream;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let len = lengths.next().unwrap_or(rest.len()).min(rest.len());
        let (chunk, tail) = rest.split_at(len);
        rest = tail;
        Some(chunk)
    })
}
