//! MySQL middleware: the binary.
mod cluster;

fn main() {}
