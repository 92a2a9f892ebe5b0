//! The token that opens the REST interface.
//!
//! What must always hold: the token itself is not kept, and how long a comparison takes tells nothing of it.

use std::sync::{PoisonError, RwLock};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Digest, SHA256, digest};
use axum::http::{HeaderMap, header};

use super::problem::Problem;

/// The token's hash.
#[derive(Debug)]
pub(super) struct Access(RwLock<Digest>);

fn hash(token: &str) -> Digest {
    digest(&SHA256, token.as_bytes())
}

impl Access {
    pub(super) fn new(token: &str) -> Access {
        Access(RwLock::new(hash(token)))
    }

    pub(super) fn set(&self, token: &str) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = hash(token);
    }

    /// Refuses a request without the token (RFC 6750).
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = given.and_then(|value| value.split_once(' ')) else {
            return Err(Problem::unauthorized(false));
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Problem::unauthorized(false));
        }
        let own = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        let equal = verify_slices_are_equal(own.as_ref(), hash(token.trim()).as_ref());
        equal.map_err(|_| Problem::unauthorized(true))
    }
}
