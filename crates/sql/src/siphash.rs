//! SipHash-1-3 with 128 bits of output and a fixed key, so that digests are the same in every process and version.
//!
//! What must hold: the value depends on the bytes only, not on how they were cut into writes. The fixed key means that
//! a client could, with great effort, construct two texts of one digest; nothing that decides about access may rest on
//! digests alone.

/// A running hash.
#[derive(Clone)]
pub(crate) struct SipHasher {
    state: [u64; 4],
    /// Bytes not yet mixed in, little end first.
    tail: u64,
    tail_bits: u32,
    length: u64,
}

impl SipHasher {
    pub(crate) fn new() -> Self {
        // The initial state of SipHash for the key "Weir digest text" (two little-endian words).
        let k0 = u64::from_le_bytes(*b"Weir dig");
        let k1 = u64::from_le_bytes(*b"est text");
        let state = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        Self { state, tail: 0, tail_bits: 0, length: 0 }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.tail |= u64::from(byte) << self.tail_bits;
        self.tail_bits += 8;
        self.length += 1;
        if self.tail_bits == 64 {
            self.mix(self.tail);
            self.tail = 0;
            self.tail_bits = 0;
        }
    }

    pub(crate) fn finish(mut self) -> u128 {
        let last = self.tail | (self.length << 56);
        self.mix(last);
        self.state[2] ^= 0xee;
        self.rounds(3);
        let low = self.fold();
        self.state[1] ^= 0xdd;
        self.rounds(3);
        u128::from(low) | u128::from(self.fold()) << 64
    }

    fn fold(&self) -> u64 {
        self.state.iter().fold(0, |sum, word| sum ^ word)
    }

    fn mix(&mut self, word: u64) {
        self.state[3] ^= word;
        self.rounds(1);
        self.state[0] ^= word;
    }

    fn rounds(&mut self, count: u32) {
        let [mut a, mut b, mut c, mut d] = self.state;
        for _ in 0..count {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.state = [a, b, c, d];
    }
}
