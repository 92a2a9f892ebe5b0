//! The REST interface against its own OpenAPI document, and `weir ctl`.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use serde_json::{Value as Json, json};
use weir_local::{Flavor, PortChoice, free_port};

use crate::Collector;
use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Endpoint, Lab, eventually};
use crate::weir::{command, write_config};

const BOUND: Duration = Duration::from_secs(20);
const TOKEN: &str = "a token of the suite";
const DOCUMENT: &str = "/api/v1/openapi.json";

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    type Case = (&'static str, fn(&Lab, &Endpoint, u16) -> Result<(), Failed>);
    let cases: [Case; 4] = [
        ("every_path_of_the_document_answers_by_its_schema", walk),
        ("the_document_has_every_command", complete),
        ("errors_are_problem_documents", problems),
        ("weir_ctl_does_what_the_statements_do", ctl),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("api::{word}"), move |lab: &Lab, flavor: Flavor| {
            let port = free_port(PortChoice::Any)?;
            let (address, token) = (format!("\"127.0.0.1:{port}\""), format!("\"{TOKEN}\"").replace(' ', "-"));
            let settings = [("api.address", address.as_str()), ("api.token", &token)];
            lab.with_endpoint(lab.site(flavor)?, &settings, |endpoint| case(lab, endpoint, port))
        });
    }
    if tests.flavor == Flavor::MariaDb {
        tests.add_for_weir("api::weir_ctl_knows_the_cluster_of_weir_up", |lab, _| cluster(lab));
    }
}

fn token() -> String {
    TOKEN.replace(' ', "-")
}

/// Status, media type and body of the answer to a request with the token.
fn request(port: u16, method: &str, path: &str, body: &str) -> Result<(u16, String, String), Failed> {
    let token = token();
    let headers = format!("Host: weir\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n", body.len());
    exchange(port, &format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{body}"))
}

fn exchange(port: u16, request: &str) -> Result<(u16, String, String), Failed> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(BOUND))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| format!("no header: {text:?}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
    let media = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
    Ok((status, media.to_owned(), body.to_owned()))
}

fn document(port: u16) -> Result<Json, Failed> {
    let (status, _, body) = request(port, "GET", DOCUMENT, "")?;
    expect_equal("status", status, 200)?;
    Ok(serde_json::from_str(&body)?)
}

/// A value for each argument that commands have.
fn example(name: &str, session: u32) -> Result<Json, Failed> {
    match name {
        "id" => Ok(session.into()),
        "pattern" => Ok("%".into()),
        "command" => Ok("SHOW".into()),
        "level" => Ok("info".into()),
        "server" => Ok("writer".into()),
        "group" | "shard" => Ok("main".into()),
        "slots" => Ok("0-99".into()),
        "database" => Ok("d".into()),
        "table" => Ok("d.t".into()),
        "tables" => Ok("d.t TO GLOBAL".into()),
        "rows" => Ok(1000.into()),
        "mode" => Ok("MERGE".into()),
        "limit" => Ok(10.into()),
        "state" => Ok("OFF".into()),
        "time" => Ok("2037-03-01T01:30:00Z".into()),
        other => Err(format!("the test has no value for the argument `{other}`: give one here").into()),
    }
}

/// Checks an answer against what the document says of its status.
fn check(document: &Json, operation: &Json, what: &str, answer: &(u16, String, String)) -> Result<(), Failed> {
    let (status, media, body) = answer;
    let responses = &operation["responses"];
    let described = responses.get(status.to_string()).or_else(|| responses.get("default"));
    let described = described.ok_or_else(|| format!("{what}: status {status} is not in the document"))?;
    let Some(content) = described.get("content") else {
        return expect_equal(&format!("{what}: body"), body.as_str(), "");
    };
    let schema = content.get(media).ok_or_else(|| format!("{what}: {media} is not in the document"))?;
    // References begin at the document's root.
    let schema = json!({ "components": document["components"], "allOf": [schema["schema"]] });
    let validator = jsonschema::draft202012::new(&schema).map_err(|error| format!("{what}: {error}"))?;
    let value: Json = serde_json::from_str(body)?;
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    if errors.is_empty() { Ok(()) } else { Err(format!("{what}: {errors:?} in {body}").into()) }
}

fn walk(_: &Lab, endpoint: &Endpoint, port: u16) -> Result<(), Failed> {
    let document = document(port)?;
    expect_equal("OpenAPI", document["openapi"].as_str(), Some("3.1.0"))?;
    let mut own = connect(endpoint.port, APP, None)?;
    own.query_drop("SELECT @@port")?;
    let mut called = 0;
    for (path, operations) in document["paths"].as_object().ok_or("no paths")? {
        for (method, operation) in operations.as_object().ok_or("no operations")? {
            let what = format!("{method} {path}");
            let victim = connect(endpoint.port, APP, None)?;
            let (path, body) = filled_in(path, operation, victim.connection_id())?;
            let answer = request(port, &method.to_ascii_uppercase(), &path, &body)?;
            // Before one server the commands about shards say that there is one, and no other one can become the writer.
            let of_one_server =
                ["There is one shard", "it is the writer", "does not know how the group replicates", "need no start"];
            let one_shard = answer.0 == 501 && of_one_server.iter().any(|why| answer.2.contains(why));
            let no_batch = path.contains("/batches/") && answer.2.contains("There is no batch");
            if !(200..300).contains(&answer.0) && !one_shard && !no_batch {
                return Err(format!("{what}: {answer:?}").into());
            }
            check(&document, operation, &what, &answer)?;
            if answer.2.contains(APP.1) || answer.2.contains(&token()) {
                return Err(format!("{what}: a secret is in the answer").into());
            }
            called += 1;
        }
    }
    own.query_drop("SELECT 1")?;
    let least = weir_admin::command::CATALOGUE.len();
    expect_equal("operations called", called, least + 1)
}

/// The path and body of a request with all arguments that the operation has.
fn filled_in(path: &str, operation: &Json, session: u32) -> Result<(String, String), Failed> {
    let mut path = path.to_owned();
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().ok_or("a parameter without a name")?;
        let value = example(name, session)?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned).replace('%', "%25");
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &value),
            _ => query.push(format!("{name}={value}")),
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let Some(properties) = schema["properties"].as_object() else { return Ok((path, String::new())) };
    let mut body = json!({});
    for name in properties.keys() {
        body[name] = example(name, session)?;
    }
    Ok((path, body.to_string()))
}

fn complete(_: &Lab, endpoint: &Endpoint, port: u16) -> Result<(), Failed> {
    let document = document(port)?;
    let mut described = BTreeSet::new();
    for operations in document["paths"].as_object().ok_or("no paths")?.values() {
        for operation in operations.as_object().ok_or("no operations")?.values() {
            described.extend(operation["description"].as_str().map(str::to_owned));
        }
    }
    let mut admin = connect(endpoint.port, APP, None)?;
    let mut statements: Vec<(String, String)> = admin.query("WEIR HELP")?;
    // It explains a statement of the session that asks, and REST has none.
    let before = statements.len();
    statements.retain(|(statement, _)| !statement.starts_with("WEIR EXPLAIN"));
    expect_equal("WEIR EXPLAIN", statements.len(), before - 1)?;
    expect_equal("commands", described.len(), statements.len())?;
    for (statement, _) in statements {
        if !described.iter().any(|text| text.contains(&format!("`{statement}`"))) {
            return Err(format!("{statement} is not in the document: {described:?}").into());
        }
    }
    Ok(())
}

fn problems(_: &Lab, _: &Endpoint, port: u16) -> Result<(), Failed> {
    let document = document(port)?;
    let any = &document["paths"]["/api/v1/status"]["get"];
    let without_token = exchange(port, "GET /api/v1/status HTTP/1.1\r\nHost: weir\r\n\r\n")?;
    let mut answers = vec![("no token", 401, without_token)];
    for (what, method, path, body, status) in [
        ("no such path", "GET", "/api/v2/status", "", 404),
        ("no such method", "POST", "/api/v1/status", "", 405),
        ("no such session", "DELETE", "/api/v1/sessions/4000000000", "", 404),
        ("no number", "DELETE", "/api/v1/sessions/x", "", 400),
        ("no level", "PUT", "/api/v1/log-level", "{\"level\":\"loud\"}", 400),
        ("no JSON", "PUT", "/api/v1/log-level", "level=debug", 400),
    ] {
        answers.push((what, status, request(port, method, path, body)?));
    }
    for (what, status, answer) in &answers {
        expect_equal(what, answer.0, *status)?;
        expect_equal(what, answer.1.as_str(), "application/problem+json")?;
        check(&document, any, what, answer)?;
    }
    let unknown: Json = serde_json::from_str(&answers[3].2.2)?;
    expect_equal("code", unknown["code"].as_u64(), Some(1094))
}

fn ctl(lab: &Lab, endpoint: &Endpoint, port: u16) -> Result<(), Failed> {
    let (address, token) = (format!("127.0.0.1:{port}"), token());
    let file = lab.directory()?.join("api.token");
    write_config(&file, &format!("{token}\n"))?;
    let by_file = |words: &[&str]| {
        let place = ["ctl", "--address", &address, "--token-file", file.to_str().expect("UTF-8")];
        command(&[&place, words].concat(), &[])
    };
    let (code, out, err) = by_file(&["status"])?;
    expect_equal(&format!("status: {err}"), code, Some(0))?;
    if !out.contains("| sessions ") || !out.ends_with("rows in set\n") {
        return Err(format!("no table: {out}").into());
    }
    let mut victim = connect(endpoint.port, APP, None)?;
    let (_, out, _) = by_file(&["sessions", APP.0, "--json"])?;
    let sessions: Json = serde_json::from_str(&out)?;
    expect_equal("id", sessions["items"][0]["id"].as_u64(), Some(victim.connection_id().into()))?;
    let id = victim.connection_id().to_string();
    expect_equal("kill", by_file(&["kill", &id])?, (Some(0), "OK\n".into(), String::new()))?;
    eventually(BOUND, "the session has ended", || victim.ping().is_err())?;
    let told = "weir: ERROR 1094 (HY000): Unknown thread id: 4000000000\n".to_owned();
    expect_equal("an unknown id", by_file(&["kill", "4000000000"])?, (Some(1), String::new(), told))?;
    let (code, _, err) = by_file(&["sesions"])?;
    expect_equal(&err, (code, err.contains("did you mean sessions?")), (Some(2), true))?;

    let by_environment = |token: &str| command(&["ctl", "servers"], &[("WEIR_API", &address), ("WEIR_TOKEN", token)]);
    let (code, out, _) = by_environment(&token)?;
    expect_equal("servers", (code, out.contains("| writer |")), (Some(0), true))?;
    let (code, out, err) = by_environment("another token")?;
    expect_equal("a wrong token", (code, out), (Some(1), String::new()))?;
    expect_equal(&err, err.contains("the token is not the one of this Weir"), true)
}

/// `weir up` leaves a cluster that `weir ctl` can ask, and `weir down` ends it.
fn cluster(lab: &Lab) -> Result<(), Failed> {
    let dir = lab.directory()?.join("c");
    let dir = dir.to_str().ok_or("not UTF-8")?;
    let port = free_port(PortChoice::From(25_000))?.to_string();
    let (code, out, err) =
        command(&["up", "--dir", dir, "--flavor", "mariadb", "--replicas", "0", "--port", &port], &[])?;
    let asked = command(&["ctl", "--dir", dir, "config", "listen.address"], &[]);
    let (down, _, _) = command(&["down", "--dir", dir, "--wipe"], &[])?;
    expect_equal(&format!("weir up: {out}{err}"), code, Some(0))?;
    expect_equal("weir down", down, Some(0))?;
    expect_equal("what weir down --wipe leaves", std::fs::exists(dir)?, false)?;
    let (code, out, err) = asked?;
    expect_equal(&format!("weir ctl: {err}"), code, Some(0))?;
    expect_equal(&out, out.contains(&format!("127.0.0.1:{port}")), true)
}
