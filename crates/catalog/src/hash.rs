//! The hash of shard keys.
//!
//! What must always hold: the hash of a value never changes, in any version of Weir: rows are where it said. It is FNV-1a of 64 bits over
//! the key's normalised encoding, mixed by MurmurHash3's finaliser (FNV alone leaves the high bits of short keys poor); the slot is its
//! upper twelve bits. The tests hold fixed values.

use crate::placement::SLOTS;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Takes a normalised key, column by column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHasher(u64);

impl KeyHasher {
    pub(crate) fn new() -> KeyHasher {
        KeyHasher(OFFSET)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    }

    pub(crate) fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }

    pub(crate) fn slot(self) -> usize {
        (self.finish() >> 52) as usize % SLOTS
    }
}
