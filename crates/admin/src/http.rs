//! The HTTP endpoint for monitoring: Prometheus metrics and a health check; and the bounds that it shares with REST.
//!
//! Must always hold: whatever its clients do, the endpoint takes a bounded part of the process. At
//! most [`MAX_CONNECTIONS`] connections are open, each serves one request and ends after
//! [`CONNECTION_TIME`], read or not; more clients wait in the kernel's queue. What is traded for
//! that is keep-alive, which a scrape every few seconds does not miss.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// The most connections open at once.
pub const MAX_CONNECTIONS: usize = 16;

/// The time after which a connection is closed, whatever its state.
pub const CONNECTION_TIME: Duration = Duration::from_secs(10);

/// The media type of the OpenMetrics text format, version 1.0.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Tells whether Weir can serve clients now: what to say if it can, or the reason why not. Both are
/// shown to whoever asks, and hold no secret. Called once per request to `/health`; it must not block.
pub type HealthCheck = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// Serves HTTP on `listener` until `shutdown` is ready and the open connections have ended, which
/// takes at most [`CONNECTION_TIME`].
///
/// - `GET /metrics`: the registry in the OpenMetrics text format.
/// - `GET /health`: 200 and what there is to say, or 503 and the reason.
/// - Anything else: 404, or 405 for another method.
///
/// Fails only when the listener can't be used; errors of single connections end that connection.
/// Runs on the tokio runtime that polls it.
pub async fn serve(
    listener: std::net::TcpListener,
    registry: Arc<Registry>,
    health: HealthCheck,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = BoundedListener::new(listener, MAX_CONNECTIONS, CONNECTION_TIME)?;
    serve_on(listener, registry, health, shutdown).await
}

async fn serve_on(
    listener: BoundedListener,
    registry: Arc<Registry>,
    health: HealthCheck,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics).with_state(registry))
        .route("/health", get(check_health).with_state(health))
        .fallback(not_found)
        .layer(map_response(close_after));
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

async fn metrics(State(registry): State<Arc<Registry>>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics can't be encoded");
            let message = "the metrics can't be encoded\n";
            (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
        }
    }
}

async fn check_health(State(health): State<HealthCheck>) -> (StatusCode, String) {
    match health() {
        Ok(text) => (StatusCode::OK, format!("{text}\n")),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

async fn not_found() -> (StatusCode, &'static str) {
    let message = "not found: there are /metrics and /health\n";
    (StatusCode::NOT_FOUND, message)
}

/// Makes the server close the connection behind this response.
pub(crate) async fn close_after(mut response: Response) -> Result<Response, Infallible> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    Ok(response)
}

/// A listener that keeps to a number of open connections and a time for each.
pub(crate) struct BoundedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    connection_time: Duration,
}

impl BoundedListener {
    pub(crate) fn new(
        listener: std::net::TcpListener,
        max_connections: usize,
        connection_time: Duration,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            permits: Arc::new(Semaphore::new(max_connections)),
            connection_time,
        })
    }
}

impl Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    /// Waits for a free place first, then for a client. Cancel-safe: a place taken is given back
    /// when the future is dropped, and a client not yet accepted stays in the kernel's queue.
    async fn accept(&mut self) -> (BoundedStream, SocketAddr) {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let bounded = BoundedStream { stream, end: Box::pin(sleep(self.connection_time)), _permit: permit };
        (bounded, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails with `TimedOut` when its time is up, and holds its place until dropped.
pub(crate) struct BoundedStream {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl BoundedStream {
    /// The stream to go on with, or an error when the time is up; wakes the task then.
    fn in_time(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.in_time(cx)?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
