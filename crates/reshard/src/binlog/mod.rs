//! Reading events of binary logs.
