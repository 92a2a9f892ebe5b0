//! Starts, stops and wires real MySQL and MariaDB servers in a private directory.
