//! Integration tests on real servers.
