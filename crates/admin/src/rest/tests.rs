//! The interface over real TCP connections; what commands tell and do is tested on a running Weir.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::Oversight;
use crate::sessions::Registry;

const TOKEN: &str = "a token of tests";

struct Running {
    address: SocketAddr,
    api: Arc<Api>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

impl Running {
    fn start() -> Running {
        let group = weir_topology::Group::new(weir_topology::GroupSettings::default(), Vec::new(), Vec::new());
        let oversight = Arc::new(Oversight::new(0, Default::default()));
        let commands = Commands::new(Arc::new(Registry::new(0, 10, 0)), vec![Arc::new(group)], oversight);
        let api = Arc::new(Api::new(Arc::new(commands), TOKEN));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(api.clone().serve(listener, shutdown));
        Running { address, api, stop, task }
    }

    /// Sends a request with the token, and reads the reply to its end.
    async fn request(&self, method: &str, path: &str, body: &str) -> String {
        let headers = format!("Authorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n", body.len());
        self.raw(&format!("{method} {path} HTTP/1.1\r\nHost: weir.test\r\n{headers}\r\n{body}")).await
    }

    async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        reply
    }

    async fn end(self) {
        self.stop.send(()).expect("it runs");
        self.task.await.expect("no panic").expect("no error");
    }
}

fn expect_status(reply: &str, status: u16) {
    assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{status} expected: {reply}");
}

#[tokio::test]
async fn without_the_token_nothing_is_told() {
    let running = Running::start();
    let get = |header: &str| format!("GET /api/v1/status HTTP/1.1\r\nHost: x\r\n{header}\r\n");
    for header in ["", "Authorization: Basic YTpi\r\n", "Authorization: Bearer\r\n"] {
        let reply = running.raw(&get(header)).await;
        expect_status(&reply, 401);
        assert!(reply.contains("www-authenticate: Bearer realm=\"weir\"\r\n"), "{reply}");
        assert!(reply.contains("content-type: application/problem+json\r\n"), "{reply}");
    }
    for token in ["wrong", "a token of test", "a token of tests "] {
        let reply = running.raw(&get(&format!("Authorization: Bearer {token}x\r\n"))).await;
        expect_status(&reply, 401);
        assert!(reply.contains("error=\"invalid_token\"") && !reply.contains(TOKEN), "{reply}");
    }
    expect_status(&running.raw("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n").await, 401);
    expect_status(&running.raw(&get(&format!("authorization: bearer {TOKEN}\r\n"))).await, 200);
    running.api.set_token("another token");
    expect_status(&running.request("GET", "/api/v1/status", "").await, 401);
    running.end().await;
}

#[tokio::test]
async fn wrong_requests_have_their_status() {
    let running = Running::start();
    let large = format!("{{\"level\":\"{}\"}}", "x".repeat(MAX_BODY));
    let cases = [
        ("GET", "/api/v1/nothing", "", 404),
        ("GET", "/api/v1/status/", "", 404),
        ("GET", "/", "", 404),
        ("POST", "/api/v1/status", "", 405),
        ("PUT", "/api/v1/openapi.json", "", 405),
        ("GET", "/api/v1/servers?patern=x", "", 400),
        ("DELETE", "/api/v1/sessions/one", "", 400),
        ("DELETE", "/api/v1/sessions/7", "", 404),
        ("DELETE", "/api/v1/sessions/99999999999999999999", "", 400),
        ("PUT", "/api/v1/log-level", "", 400),
        ("PUT", "/api/v1/log-level", "[]", 400),
        ("PUT", "/api/v1/log-level", "{}", 400),
        ("PUT", "/api/v1/log-level", "{\"level\":1}", 400),
        ("PUT", "/api/v1/log-level", "{\"levle\":\"debug\"}", 400),
        ("PUT", "/api/v1/log-level", &large, 413),
    ];
    for (method, path, body, status) in cases {
        let reply = running.request(method, path, body).await;
        expect_status(&reply, status);
        assert!(reply.contains("content-type: application/problem+json\r\n"), "{method} {path}: {reply}");
    }
    let reply = running.request("DELETE", "/api/v1/sessions", "").await;
    assert!(reply.contains("allow: GET\r\n"), "{reply}");
    let reply = running.request("DELETE", "/api/v1/sessions/7", "").await;
    assert!(reply.contains("\"code\":1094") && reply.contains("\"sqlstate\":\"HY000\""), "{reply}");
    running.end().await;
}

#[test]
fn every_command_is_in_the_document_once() {
    let document = document();
    let mut ids = Vec::new();
    for spec in CATALOGUE {
        let operation = &document["paths"][spec.path][spec.method.name().to_ascii_lowercase()];
        assert_eq!(operation["summary"], spec.about);
        ids.push(operation["operationId"].as_str().expect("an id").to_owned());
    }
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
}

#[test]
fn the_page_on_operating_lists_every_command() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let page = std::fs::read_to_string(page).expect("docs/operations.md is there");
    for spec in CATALOGUE {
        let line = format!("| {} `{}` |", spec.method.name(), spec.path);
        assert!(page.contains(&line), "docs/operations.md lacks: {line} {}", spec.sql[0]);
    }
}
