use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use weir_backend::Stream;

use super::Client;

/// What the system has been told of the client's socket.
fn given_up_after(client: &Client) -> Option<Duration> {
    let Stream::Tcp(socket) = client.stream() else { return None };
    SockRef::from(socket).tcp_user_timeout().expect("a socket's option")
}

#[tokio::test]
async fn the_system_gives_a_reply_up_no_sooner_than_weir_and_keepalive_do() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a listener");
    let _peer = TcpStream::connect(listener.local_addr().expect("its address")).await.expect("a client");
    let (socket, _) = listener.accept().await.expect("the same client");
    let mut client = Client::new(Stream::Tcp(socket), Duration::from_secs(60));
    assert_eq!(given_up_after(&client), Some(Duration::from_secs(120)));
    client.set_write_timeout(Duration::from_secs(600));
    assert_eq!(given_up_after(&client), Some(Duration::from_secs(600)));
    // More than the system can be told.
    client.set_write_timeout(Duration::from_secs(365 * 86_400));
    assert_eq!(given_up_after(&client), Some(Duration::from_millis(i32::MAX as u64)));
    client.set_write_timeout(Duration::from_secs(1));
    assert_eq!(given_up_after(&client), Some(Duration::from_secs(120)));
}
