//! Both sides of a takeover in one process, on a real control socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::*;

struct Old {
    _directory: tempfile::TempDir,
    path: PathBuf,
    listener: TcpListener,
    offer: Offer,
    _socket: ControlSocket,
    successors: tokio::sync::mpsc::Receiver<Successor>,
}

fn name() -> Name {
    Name::Clients("127.0.0.1:1".to_owned())
}

/// A process that offers one listener.
fn old() -> Old {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("control.sock");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let offer = Offer::default();
    offer.add(name(), &listener).expect("offered");
    let mut socket = ControlSocket::bind(&path, false).expect("bound");
    let successors = socket.watch(offer.clone()).expect("watched");
    Old { _directory: directory, path, listener, offer, _socket: socket, successors }
}

#[test]
fn a_socket_that_was_handed_over_accepts() {
    let mut old = old();
    let address = old.listener.local_addr().expect("an address");
    let (mut predecessor, mut inherited) = Predecessor::ask(&old.path).expect("offered");
    assert!(inherited.take(&Name::Api("127.0.0.1:1".to_owned())).is_none());
    let taken = inherited.take_tcp(&name()).expect("a socket").expect("handed over");
    assert!(inherited.take(&name()).is_none());
    let ready = std::thread::spawn(move || {
        let next_id = predecessor.ready().expect("yours");
        predecessor.serving().expect("told");
        next_id
    });
    let successor = old.successors.blocking_recv().expect("it is ready");
    assert_eq!(successor.pid, std::process::id());
    drop(old.listener);
    old.offer.withdraw();
    successor.hand_over(77).expect("it serves");
    assert_eq!(ready.join().expect("no panic"), 77);
    let mut client = TcpStream::connect(address).expect("the socket lives on");
    taken.set_nonblocking(false).expect("set");
    let (mut served, _) = taken.accept().expect("a client");
    client.write_all(b"x").expect("sent");
    served.read_exact(&mut [0]).expect("received");
    drop((served, client, taken));
    assert!(TcpStream::connect(address).is_err(), "nobody has it any more");
}

#[test]
fn a_new_process_that_gives_up_changes_nothing() {
    let mut old = old();
    // At each step in turn: connected, said hello, got the sockets.
    drop(UnixStream::connect(&old.path).expect("connected"));
    let mut stream = UnixStream::connect(&old.path).expect("connected");
    stream.write_all(b"nonsense\n").expect("sent");
    drop(stream);
    drop(Predecessor::ask(&old.path).expect("offered"));
    // Ready, and gone before it serves.
    let (mut predecessor, _) = Predecessor::ask(&old.path).expect("offered");
    let gone = std::thread::spawn(move || predecessor.ready());
    let successor = old.successors.blocking_recv().expect("it is ready");
    let given_up = std::thread::spawn(move || successor.hand_over(1));
    gone.join().expect("no panic").expect("yours");
    given_up.join().expect("no panic").expect_err("it is gone");
    // The next one gets the sockets all the same.
    let (_, mut inherited) = Predecessor::ask(&old.path).expect("offered");
    assert!(inherited.take(&name()).is_some());
}

#[test]
fn another_protocol_and_a_stopping_process_are_refused_with_the_reason() {
    let old = old();
    let mut stream = UnixStream::connect(&old.path).expect("connected");
    let hello = Message::Hello { protocol: PROTOCOL + 1, pid: 1, version: "9.9.9".to_owned() };
    wire::send(&mut stream, &hello).expect("sent");
    let refusal = wire::receive(&mut stream).expect_err("refused").to_string();
    assert!(refusal.contains("Weir 9.9.9 can't take over"), "{refusal}");
    old.offer.withdraw();
    let refusal = Predecessor::ask(&old.path).expect_err("refused").to_string();
    assert_eq!(refusal, "this Weir is stopping");
}

#[test]
fn the_control_socket_is_private_and_takes_its_place() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| path.metadata().map(|meta| meta.permissions().mode() & 0o777).ok();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("control.sock");
    let mut first = ControlSocket::bind(&path, false).expect("bound");
    assert_eq!(mode(&path), Some(0o600));
    assert!(ControlSocket::bind(&path, false).is_err(), "in use");
    let mut second = ControlSocket::bind(&path, true).expect("bound beside");
    second.take_place().expect("renamed");
    first.give_up_place();
    drop(first);
    assert_eq!(mode(&path), Some(0o600));
    drop(second);
    assert_eq!(mode(&path), None);
}
