//! Durations, sizes, addresses and networks: what is read as what.

use std::net::IpAddr;
use std::time::Duration;

use super::address::parse_server_address;
use super::units::{parse_duration, parse_size};
use weir_admin::network::Network;

#[test]
fn durations_need_a_unit_and_have_an_upper_bound() {
    for (text, milliseconds) in [
        ("0s", 0),
        ("500ms", 500),
        ("10s", 10_000),
        ("5m", 300_000),
        ("8h", 28_800_000),
        ("365d", 31_536_000_000),
        ("7 s", 7_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["", "10", "s", "-1s", "1.5s", "1h30m", "10 sec", " 1s", "366d", "99999999999999999999s", "1S", "١s"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn sizes_are_in_powers_of_1024() {
    for (text, bytes) in
        [("0", 0), ("512", 512), ("16K", 16 << 10), ("64MiB", 64 << 20), ("64M", 64 << 20), ("1 GiB", 1 << 30)]
    {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for text in ["", "MiB", "64MB", "64mib", "1.5G", "-1", "18446744073709551615K"] {
        assert!(parse_size(text).is_err(), "{text}");
    }
}

#[test]
fn server_addresses_are_read_without_looking_anything_up() {
    for (text, shown) in [
        ("db1.example:3307", "db1.example:3307"),
        ("db_1", "db_1:3306"),
        ("10.0.0.1:3306", "10.0.0.1:3306"),
        ("[::1]:3307", "[::1]:3307"),
        ("[::1]", "[::1]:3306"),
        ("fe80::1", "[fe80::1]:3306"),
        ("/run/mysqld/mysqld.sock", "/run/mysqld/mysqld.sock"),
    ] {
        let address = parse_server_address(text).expect(text);
        assert_eq!(address.to_string(), shown);
    }
    for text in [
        "",
        ":3306",
        "db1:",
        "db1:0",
        "db1:65536",
        "db1:mysql",
        "db 1:1",
        "-db:1",
        "a..b:1",
        "[::1",
        "[::1]3306",
        "[db1]:1",
        "::1:x",
        "mysql://db1",
        "run/mysqld.sock",
    ] {
        assert!(parse_server_address(text).is_err(), "{text}");
    }
}

#[test]
fn a_network_contains_the_addresses_with_its_prefix() {
    let contains = |network: &str, address: &str| {
        let network: Network = network.parse().expect(network);
        network.contains(address.parse::<IpAddr>().expect(address))
    };
    for (network, inside, outside) in [
        ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
        ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
        ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
        ("fd00::/8", "fdff::1", "fc00::1"),
        ("fd00::1/128", "fd00::1", "fd00::2"),
        ("0.0.0.0/0", "1.2.3.4", "::1"),
        ("::/0", "::1", "1.2.3.4"),
    ] {
        assert!(contains(network, inside), "{network} {inside}");
        assert!(!contains(network, outside), "{network} {outside}");
    }
    for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.1/8", "localhost/8", "10.0.0.0/"] {
        assert!(text.parse::<Network>().is_err(), "{text}");
    }
}
