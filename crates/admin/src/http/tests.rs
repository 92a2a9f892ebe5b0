//! The endpoint over real TCP connections.

use std::sync::atomic::{AtomicBool, Ordering};

use prometheus_client::metrics::counter::Counter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

/// A bound for waits of which each ends at once when the endpoint is right.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running endpoint with one counter at 7, and a health check that follows a flag.
struct Endpoint {
    address: SocketAddr,
    healthy: Arc<AtomicBool>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Endpoint {
    fn start(max_connections: usize, connection_time: Duration) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listener = BoundedListener::new(listener, max_connections, connection_time);
        let listener = listener.expect("a usable listener");
        let address = listener.local_addr().expect("an address");
        let mut registry = Registry::default();
        let counter: Counter = Counter::default();
        counter.inc_by(7);
        registry.register("weir_tests", "Tests of the endpoint", counter);
        let healthy = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&healthy);
        let health: HealthCheck = Arc::new(move || match flag.load(Ordering::SeqCst) {
            true => Ok("ok".to_owned()),
            false => Err("no writer".to_owned()),
        });
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve_on(listener, Arc::new(registry), health, shutdown));
        Self { address, healthy, stop, task }
    }

    fn usual() -> Self {
        Self::start(MAX_CONNECTIONS, CONNECTION_TIME)
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connected")
    }

    /// Sends `method path` on a connection of its own, and reads until the server closes it.
    async fn request(&self, method: &str, path: &str) -> String {
        request_on(self.connect().await, method, path).await
    }

    async fn stop(self) {
        self.stop.send(()).expect("the endpoint runs");
        let ended = timeout(PATIENCE, self.task).await.expect("it ends");
        ended.expect("no panic").expect("no error");
    }
}

async fn request_on(mut stream: TcpStream, method: &str, path: &str) -> String {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: weir.test\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    read_to_end(&mut stream).await
}

/// All that the server sends until it closes the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut reply = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut reply)).await;
    read.expect("the server closes the connection").expect("UTF-8");
    reply
}

#[tokio::test]
async fn metrics_are_in_the_open_metrics_text_format() {
    let endpoint = Endpoint::usual();
    let reply = endpoint.request("GET", "/metrics").await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains(&format!("content-type: {OPEN_METRICS}\r\n")), "{reply}");
    assert!(reply.contains("\nweir_tests_total 7\n"), "{reply}");
    assert!(reply.ends_with("# EOF\n"), "{reply}");
    endpoint.stop().await;
}

#[tokio::test]
async fn health_is_200_or_503_with_the_reason() {
    let endpoint = Endpoint::usual();
    let reply = endpoint.request("GET", "/health").await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\nok\n"), "{reply}");
    endpoint.healthy.store(false, Ordering::SeqCst);
    let reply = endpoint.request("GET", "/health").await;
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert!(reply.ends_with("\r\n\r\nno writer\n"), "{reply}");
    endpoint.stop().await;
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let endpoint = Endpoint::usual();
    for (method, path, status) in
        [("GET", "/", "404"), ("GET", "/metrics/x", "404"), ("POST", "/metrics", "405"), ("GET", "//../etc", "404")]
    {
        let reply = endpoint.request(method, path).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {reply}");
    }
    endpoint.stop().await;
}

#[tokio::test]
async fn a_silent_client_is_disconnected_when_its_time_is_up() {
    let endpoint = Endpoint::start(MAX_CONNECTIONS, Duration::from_millis(20));
    let mut silent = endpoint.connect().await;
    assert_eq!(read_to_end(&mut silent).await, "");
    endpoint.stop().await;
}

#[tokio::test]
async fn a_client_beyond_the_limit_is_served_when_another_has_gone() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut listener = BoundedListener::new(listener, 1, PATIENCE).expect("a usable listener");
    let address = listener.local_addr().expect("an address");
    let first = TcpStream::connect(address).await.expect("connected");
    let second = TcpStream::connect(address).await.expect("connected");
    let (served, peer) = listener.accept().await;
    assert_eq!(peer, first.local_addr().expect("an address"));
    assert_eq!(listener.permits.available_permits(), 0);
    tokio::select! {
        biased;
        _ = listener.accept() => panic!("a second connection beyond the limit of one"),
        () = std::future::ready(()) => {}
    }
    drop(served);
    let accepted = timeout(PATIENCE, listener.accept()).await;
    let (_, peer) = accepted.expect("there is a place again");
    assert_eq!(peer, second.local_addr().expect("an address"));
}

#[tokio::test]
async fn a_stop_ends_the_endpoint_and_frees_its_port() {
    let endpoint = Endpoint::usual();
    let address = endpoint.address;
    let idle = endpoint.connect().await;
    endpoint.stop().await;
    drop(idle);
    let refused = TcpStream::connect(address).await.expect_err("nobody listens");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}
