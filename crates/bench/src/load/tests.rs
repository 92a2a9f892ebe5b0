//! Reading what the tools print: real outputs, recorded from sysbench 1.0.20 and MariaDB 10.11's mariadb-slap.

use super::*;

const POINT_SELECT: &str = include_str!("samples/sysbench_point_select.txt");
const READ_WRITE: &str = include_str!("samples/sysbench_read_write.txt");
const REFUSED: &str = include_str!("samples/sysbench_refused.txt");
const SLAP: &str = include_str!("samples/slap.txt");

fn failed(output: &str) -> Finished {
    Finished { success: false, output: output.to_owned(), client: ClientUse::default(), is_late: false }
}

#[test]
fn sysbench_is_read_with_its_percentiles() {
    let counted = sysbench::parse(POINT_SELECT).expect("a complete output");
    assert_eq!((counted.queries, counted.events, counted.errors), (167_700, 167_700, 0));
    assert_eq!(counted.seconds, 2.0038);
    // sysbench's own 95th percentile of this run is 0.41 ms; the histogram has it more exactly.
    assert!((400.0..420.0).contains(&counted.p95_us), "{}", counted.p95_us);
    assert!(counted.p50_us > 100.0 && counted.p50_us < counted.p95_us, "{}", counted.p50_us);
    assert!(counted.p99_us > counted.p95_us && counted.p99_us < 2_000.0, "{}", counted.p99_us);
}

#[test]
fn transactions_queries_and_errors_are_told_apart() {
    let counted = sysbench::parse(READ_WRITE).expect("a complete output");
    assert_eq!((counted.queries, counted.events, counted.errors), (73_146, 3_654, 4));
    assert!((13_000.0..13_500.0).contains(&counted.p95_us), "{}", counted.p95_us);
}

#[test]
fn an_output_that_was_cut_off_is_a_failure_and_no_zero() {
    let half = &POINT_SELECT[..POINT_SELECT.len() / 2];
    let failure = sysbench::parse(half).expect_err("half an output");
    assert!(failure.contains("did not print"), "{failure}");
    assert!(slap::parse("").is_err());
    assert!(clients::parse("storm of 5 clients\n").is_err());
}

#[test]
fn a_failure_is_told_in_the_tools_own_words() {
    assert_eq!(reason(&failed(REFUSED)), "error 1040: Too many connections");
    assert_eq!(
        reason(&failed(
            "mariadb-slap: Error when connecting to server: Can't connect to server on '127.0.0.1' (115)\n"
        )),
        "mariadb-slap: Error when connecting to server: Can't connect to server on '127.0.0.1' (115)"
    );
    assert_eq!(reason(&failed("")), "it printed nothing");
    assert_eq!(
        reason(&Finished { is_late: true, ..failed("all was well") }),
        "it did not end in time, and was stopped"
    );
}

#[test]
fn slap_is_read_and_ordered_by_its_rate() {
    let counted = slap::parse(SLAP).expect("a complete output");
    assert_eq!((counted.queries, counted.seconds, counted.p95_us), (3_200, 0.217, 0.0));
    // 14,747 a second, a whole number for each of 16 clients.
    assert_eq!(slap::queries_for(4, 16, &counted), 58_976);
    assert_eq!(slap::queries_for(1, 16, &Counted { seconds: 100.0, queries: 16, ..Counted::default() }), 16);
}

#[test]
fn the_own_clients_report_is_read_back() {
    let report = crate::driver::DriverReport {
        queries: 7,
        events: 7,
        errors: 2,
        seconds: 1.5,
        p50_us: 3.0,
        ..Default::default()
    };
    let printed = format!("noise\n{}\n", serde_json::to_string(&report).expect("plain data"));
    let counted = clients::parse(&printed).expect("a complete output");
    assert_eq!((counted.queries, counted.errors, counted.seconds, counted.p50_us), (7, 2, 1.5, 3.0));
}

#[test]
fn a_prepared_insert_has_a_script_of_its_own() {
    let dir = Path::new("/private");
    assert_eq!(sysbench::script(dir, "oltp_insert", false), "oltp_insert");
    assert_eq!(sysbench::script(dir, "oltp_insert", true), "/private/insert_prepared.lua");
    assert_eq!(sysbench::script(dir, "read_write_4to1", false), "/private/read_write_4to1.lua");
    assert_eq!(sysbench::script(dir, "oltp_point_select", true), "oltp_point_select");
}
