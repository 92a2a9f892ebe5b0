//! The receive low water mark of a socket: SO_RCVLOWAT of socket(7).
//!
//! With [`super::silence`] the only place of this crate with `unsafe` code: no crate in use wraps this option, and setting it is a single system
//! call whose arguments are an owned descriptor and an integer on the stack.
#![allow(unsafe_code)]

use std::os::fd::AsRawFd;

/// Sets the mark. A failure leaves it unchanged, which costs only speed.
pub(super) fn set(socket: &impl AsRawFd, bytes: usize) {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the pointer and the length describe `value`,
    // which lives beyond the call; the kernel only reads it.
    let _ = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const value).cast(), len)
    };
}
