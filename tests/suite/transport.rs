//! What carries the bytes: PROXY headers before clients, TLS towards the servers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::clients::{companion, output_with};
use crate::driver::{connect, expect_equal, expect_error, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::relay;
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);
/// The address that the headers name: of a block reserved for documentation, so that no test comes from there.
const TOLD: &str = "192.0.2.7:5555";
const V1: &[u8] = b"PROXY TCP4 192.0.2.7 192.0.2.1 5555 3306\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc0\0\x02\x01\x15\xb3\x0c\xea";

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (version, header) in [("v1", V1), ("v2", V2)] {
        tests.add_for_weir(&format!("transport::proxy_header_{version}_names_the_client"), move |lab: &Lab, flavor| {
            proxied(lab, flavor, |endpoint| client_is_named(endpoint, header))
        });
    }
    tests.add_for_weir("transport::connection_without_its_proxy_header_is_closed", |lab: &Lab, flavor| {
        proxied(lab, flavor, without_header)
    });
    tests.add_for_weir("transport::clients_on_the_same_machine_are_told_of_weirs_socket", own_socket);
    tests.add_for_weir("transport::clients_of_a_weir_that_has_just_started_wait_for_its_server", first_client);
    tests.add("transport::strict_clients_read_several_compressed_results", compressed_results);
    if tests.flavor == Flavor::MariaDb {
        tests.add_for_weir("transport::libmariadb_hears_of_a_lost_server", lost_server_in_libmariadb);
    }
    tests.add_for_weir("transport::tls_to_the_server_is_used_where_it_is_asked_for", server_tls);
    tests.add_for_weir("transport::server_with_a_certificate_of_another_authority_is_refused", wrong_authority);
}

fn proxied(lab: &Lab, flavor: Flavor, test: impl FnOnce(&Endpoint) -> Result<(), Failed>) -> Result<(), Failed> {
    // The harness itself comes from 127.0.0.1, and without headers.
    let settings = [("listen.proxy_protocol_networks", "[\"127.0.0.2/32\"]")];
    lab.with_endpoint(lab.site(flavor)?, &settings, |endpoint| test(endpoint))
}

/// Connects from 127.0.0.2, where connections must begin with a header.
fn from_a_balancer(port: u16) -> Result<TcpStream, Failed> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 2], 0)).into())?;
    socket.connect(&std::net::SocketAddr::from(([127, 0, 0, 1], port)).into())?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

/// A balancer for one connection: sends the header, then passes bytes both ways.
fn balancer(port: u16, header: &'static [u8]) -> Result<u16, Failed> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let own = listener.local_addr()?.port();
    let mut inner = from_a_balancer(port)?;
    inner.write_all(header)?;
    std::thread::spawn(move || {
        let Ok((mut outer, _)) = listener.accept() else { return };
        let (Ok(mut outer_in), Ok(mut inner_out)) = (outer.try_clone(), inner.try_clone()) else { return };
        let up = std::thread::spawn(move || {
            let _ended = std::io::copy(&mut outer_in, &mut inner_out);
            let _closed = inner_out.shutdown(Shutdown::Write);
        });
        let _ended = std::io::copy(&mut inner, &mut outer);
        let _closed = outer.shutdown(Shutdown::Both);
        let _joined = up.join();
    });
    Ok(own)
}

/// The driver takes no numbers of packets but a server's.
fn compressed_results(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    lab.with_endpoint(lab.site(flavor)?, &[], |endpoint| {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(endpoint.port)
            .user(Some(APP.0))
            .pass(Some(APP.1))
            .prefer_socket(false)
            .compress(Some(mysql::Compression::default()));
        let mut client = mysql::Conn::new(options)?;
        for query in [
            "SELECT 1; SELECT 2; SELECT 3",
            "DO 1; SELECT REPEAT('A', 3000000), RAND(); DO 2; SELECT 3; SELECT REPEAT('A', 20000) UNION SELECT 3",
            // Read one by one.
            "SELECT 1; SET sql_mode = ''; DO 2; SELECT 3; SET sql_mode = DEFAULT; SELECT 3",
        ] {
            expect_equal(query, told_last(&mut client, query)?.as_deref(), Some("3"))?;
        }
        // Such a command is one packet, and two frames.
        for length in 0xff_ffff - 6..0xff_ffff - 1 {
            let query = format!("SELECT /*{}*/ 3", "x".repeat(length - "SELECT /**/ 3".len()));
            expect_equal("a long text", told_last(&mut client, &query)?.as_deref(), Some("3"))?;
        }
        Ok(())
    })
}

/// Some drivers ask for the socket, and go on there: `prefer_socket` of the one that is used here.
fn own_socket(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    lab.with_endpoint(lab.site(flavor)?, &[], |endpoint| {
        let mut client = connect(endpoint.port, APP, None)?;
        let expected = endpoint.socket.to_string_lossy().into_owned();
        for query in ["SELECT @@socket", "SELECT @@global.socket", "SELECT 1 AS one; SELECT @@socket"] {
            let told: Option<String> = told_last(&mut client, query)?;
            expect_equal(query, told.as_ref(), Some(&expected))?;
        }
        let prepared: Option<String> = client.exec_first("SELECT @@socket", ())?;
        expect_equal("prepared", prepared, Some(expected))?;
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(endpoint.port)
            .user(Some(APP.0))
            .pass(Some(APP.1))
            .prefer_socket(true);
        let mut moved = mysql::Conn::new(options)?;
        let own: u32 = value(&mut moved, "SELECT CONNECTION_ID()")?.parse()?;
        expect_equal("sessions of Weir", listed(&mut client, own)?, true)
    })
}

/// The value of the last of a text's results.
fn told_last(client: &mut mysql::Conn, text: &str) -> Result<Option<String>, Failed> {
    let mut results = client.query_iter(text)?;
    let mut told = None;
    while let Some(rows) = results.iter() {
        for row in rows {
            told = row?.get(0);
        }
    }
    Ok(told)
}

fn listed(client: &mut mysql::Conn, id: u32) -> Result<bool, Failed> {
    let rows: Vec<mysql::Row> = client.query("WEIR SHOW SESSIONS")?;
    Ok(rows.iter().any(|row| row.get::<u32, _>("id") == Some(id)))
}

fn client_is_named(endpoint: &Endpoint, header: &'static [u8]) -> Result<(), Failed> {
    let mut client = connect(balancer(endpoint.port, header)?, APP, None)?;
    let id = client.connection_id();
    let rows: Vec<mysql::Row> = client.query("SHOW PROCESSLIST")?;
    let own = rows.iter().find(|row| row.get::<u32, _>("Id") == Some(id));
    let host = own.and_then(|row| row.get::<String, _>("Host"));
    expect_equal("host", host.as_deref(), Some(TOLD))
}

fn without_header(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut stream = from_a_balancer(endpoint.port)?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut said = Vec::new();
    // Closed, or reset because bytes were left unread: in either case without a greeting.
    let _ended = stream.read_to_end(&mut said);
    expect_equal("bytes from Weir", said.len(), 0)
}

/// The certificate of the authority that MySQL makes for itself at its first start.
fn own_authority(site: &Site) -> Result<PathBuf, Failed> {
    let data: Option<String> = site.server.query_value("SELECT @@datadir")?;
    Ok(PathBuf::from(data.ok_or("no datadir")?).join("ca.pem"))
}

fn server_tls(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let schema = if flavor == Flavor::MySql { "performance_schema" } else { "information_schema" };
    let of_server = format!("SELECT VARIABLE_VALUE FROM {schema}.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'");
    let cipher = |endpoint: &Endpoint| {
        let mut client = connect(endpoint.port, APP, None)?;
        // The client's own connection has none: what has a name says so, and a value alone is the server's.
        let asked = format!("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM {schema}.session_status");
        for asked in ["SHOW STATUS LIKE 'ssl_%'", "SHOW SESSION STATUS", &asked] {
            let prepared: Vec<(String, String)> = client.exec(asked, ())?;
            let rows: Vec<(String, String)> = client.query(asked)?;
            let own: Vec<_> =
                rows.iter().chain(&prepared).filter(|(name, _)| name.eq_ignore_ascii_case("Ssl_cipher")).collect();
            expect_equal(asked, own.len() == 2 && own.iter().all(|(_, cipher)| cipher.is_empty()), true)?;
        }
        Ok::<_, Failed>(!value(&mut client, &of_server)?.is_empty())
    };
    let encrypted = flavor == Flavor::MySql;
    for (mode, expected) in [("off", false), ("preferred", encrypted)] {
        lab.with_endpoint(site, &[("server_tls.mode", &format!("{mode:?}"))], |endpoint| {
            expect_equal(mode, cipher(endpoint)?, expected)
        })?;
    }
    if !encrypted {
        return Ok(());
    }
    let authority = format!("{:?}", own_authority(site)?.display().to_string());
    lab.with_endpoint(site, &[("server_tls.mode", "\"required\"")], |endpoint| {
        expect_equal("required", cipher(endpoint)?, true)?;
        ended_by_server(site, endpoint)
    })?;
    let settings = [("server_tls.mode", "\"verify-ca\""), ("server_tls.ca", authority.as_str())];
    lab.with_endpoint(site, &settings, |endpoint| {
        expect_equal("verify-ca", cipher(endpoint)?, true)?;
        let mut client = connect(endpoint.port, APP, None)?;
        expect_equal("answer", value(&mut client, "SELECT 6 * 7")?, "42".into())
    })
}

/// A server ends a TLS connection without TLS's farewell: the client's error is that of any connection.
fn ended_by_server(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = connect(endpoint.port, APP, None)?;
    // Outside a transaction it would run again on another connection.
    client.query_drop("BEGIN")?;
    let running = std::thread::spawn(move || client.query_drop("SELECT SLEEP(602)"));
    end_connection(site, "SELECT SLEEP(602)")?;
    let lost = running.join().map_err(|_| "a client panicked")?;
    expect_error("a connection that the server has ended", &lost, 2013, "HY000")?;
    let message = format!("{lost:?}");
    expect_equal(&message, message.contains("the server closed the connection"), true)
}

/// The server ends the connection that runs this text.
fn end_connection(site: &Site, text: &str) -> Result<(), Failed> {
    let find = format!("SELECT id FROM information_schema.processlist WHERE info = '{text}'");
    let mut found = None;
    eventually(BOUND, "the statement runs", || {
        found = site.server.query_value(&find).ok().flatten();
        found.is_some()
    })?;
    Ok(site.server.execute(&format!("KILL {}", found.ok_or("it does not run")?))?)
}

/// libmariadb takes no error with the code 2013: when the session ends with it, the library tells of it itself.
fn lost_server_in_libmariadb(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const TEXT: &str = "SELECT SLEEP(601)";
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let mut shell = Command::new(companion(Flavor::MariaDb, "mariadb")?);
        shell.args(["--no-defaults", "--host=127.0.0.1"]).arg(format!("--port={}", endpoint.port));
        shell.arg(format!("--user={}", APP.0)).arg(format!("--password={}", APP.1));
        shell.args(["-e", &format!("BEGIN; {TEXT}")]);
        let running = std::thread::spawn(move || output_with(&mut shell, Stdio::null()));
        end_connection(site, TEXT)?;
        let output = running.join().map_err(|_| "the client's thread panicked")??;
        let told = String::from_utf8_lossy(&output.stderr);
        expect_equal(&told, told.contains("ERROR 2013 (HY000)"), true)
    })
}

/// The server answers Weir only when a client has come.
fn first_client(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let gate = Arc::new(Mutex::new(()));
    let passing = gate.clone();
    let closed = gate.lock().map_err(|_| "nobody panics with it")?;
    let port = relay::start(site.server.port(), move |weir, server| {
        drop(passing.lock());
        let carry = |mut from: &TcpStream, mut to: &TcpStream| std::io::copy(&mut from, &mut to).map(drop);
        relay::both_ways(weir, server, carry, carry)
    })?;
    let first = Weir::first_answer(&lab.directory()?, port, &[], move || drop(closed))?;
    expect_equal(&format!("a greeting: {}", String::from_utf8_lossy(&first)), first.first(), Some(&10))
}

/// Weir listens, and tells its clients why the server can't be used.
fn wrong_authority(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let other = rcgen::generate_simple_self_signed(["elsewhere".to_owned()])?;
    let path = lab.directory()?.join("other-ca.pem");
    std::fs::write(&path, other.cert.pem())?;
    let authority = format!("{:?}", path.display().to_string());
    let settings = [("server_tls.mode", "\"verify-ca\""), ("server_tls.ca", authority.as_str())];
    let reason = if flavor == Flavor::MySql { "certificate" } else { "TLS is required" };
    Weir::expect_refusal(&lab.directory()?, &site.server, &settings, reason)
}
