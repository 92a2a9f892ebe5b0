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

    /// Several bytes, as if one by one.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.mix(self.tail | word << self.tail_bits);
            // What did not fit; a shift by 64 is none.
            self.tail = word.checked_shr(64 - self.tail_bits).unwrap_or(0);
            self.length += 8;
        }
        chunks.remainder().iter().for_each(|byte| self.byte(*byte));
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

#[cfg(test)]
mod tests {
    use super::SipHasher;

    #[test]
    fn bytes_together_are_the_same_as_one_by_one() {
        let text: Vec<u8> = (0..100_u8).map(|byte| byte.wrapping_mul(37)).collect();
        for start in 0..20 {
            for end in start..text.len() {
                let (mut together, mut single) = (SipHasher::new(), SipHasher::new());
                text[..start].iter().for_each(|byte| together.byte(*byte));
                together.bytes(&text[start..end]);
                together.byte(7);
                text[..end].iter().for_each(|byte| single.byte(*byte));
                single.byte(7);
                assert_eq!(together.finish(), single.finish(), "{start}..{end}");
            }
        }
    }
}
