//! Messages on a control socket: a line of JSON each, with sockets beside the line.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use super::Message;

/// The most bytes of a message.
const MAX_MESSAGE: usize = 64 << 10;
/// The most sockets beside a message.
pub(super) const MAX_SOCKETS: usize = 200;

/// Sends a message.
pub(super) fn send(stream: &mut UnixStream, message: &Message) -> io::Result<()> {
    stream.write_all(&line(message)?)
}

/// Sends a message with sockets.
pub(super) fn send_with(stream: &mut UnixStream, message: &Message, sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
    let line = line(message)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_SOCKETS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if sockets.len() > MAX_SOCKETS || !beside.push(SendAncillaryMessage::ScmRights(sockets)) {
        return Err(io::Error::other(format!("there are more than {MAX_SOCKETS} listening sockets")));
    }
    let sent = sendmsg(&*stream, &[IoSlice::new(&line)], &mut beside, SendFlags::NOSIGNAL)?;
    stream.write_all(&line[sent..])
}

fn line(message: &Message) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > MAX_MESSAGE {
        return Err(io::Error::other("a message is too long"));
    }
    Ok(line)
}

/// Reads a message, and the sockets beside it. A refusal is an error with its reason.
pub(super) fn receive(stream: &mut UnixStream) -> io::Result<(Message, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_SOCKETS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    // Sockets come with the first byte of their message.
    let mut line = vec![0; 1];
    let read = recvmsg(&*stream, &mut [IoSliceMut::new(&mut line)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    if read.bytes == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other process has ended or given up"));
    }
    let mut sockets = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            sockets.extend(received);
        }
    }
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        if line.len() > MAX_MESSAGE {
            return Err(io::Error::other("a message is too long"));
        }
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    match serde_json::from_slice(&line)? {
        Message::Refused { reason } => Err(io::Error::other(reason)),
        message => Ok((message, sockets)),
    }
}

/// The error for a process that sends a message out of turn.
pub(super) fn unexpected(message: &Message) -> io::Error {
    io::Error::other(format!("the other process sent {message:?} out of turn"))
}
