//! A password in memory: never printed, wiped when dropped, compared in constant time.

use std::fmt;

use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

/// A password's bytes, without a terminating NUL. The empty password is a password like any other.
#[derive(Clone, Default)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Takes the bytes over; the buffer is wiped when the password is dropped.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The password's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the empty password.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The password and a NUL, as `mysql_clear_password` and `caching_sha2_password` send it.
    pub(super) fn nul_terminated(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() + 1));
        bytes.extend_from_slice(&self.0);
        bytes.push(0);
        bytes
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        same_secret(&self.0, &other.0)
    }
}

impl Eq for Password {}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Whether two secrets are equal; takes the same time wherever they differ (their lengths may show).
pub(super) fn same_secret(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}
