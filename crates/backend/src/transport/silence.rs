//! What the system knows of a TCP peer that does not answer it: TCP_INFO of tcp(7).
//!
//! `unsafe` as in [`super::low_water`]: no crate in use wraps this option, and reading it is a single system call whose arguments are an owned
//! descriptor and plain data on the stack.
#![allow(unsafe_code)]

use std::os::fd::AsRawFd;
use std::time::Duration;

/// So many packets in a row that are not acknowledged are no accident.
const UNANSWERED: u8 = 3;

/// For how long the peer has acknowledged nothing, if what was sent is being sent again, or its closed window probed, without an answer.
/// A peer that is there acknowledges each probe, also while its window is closed.
pub(super) fn of(socket: &impl AsRawFd) -> Option<Duration> {
    // SAFETY: the structure is integers only, for which zeros are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the pointers and the length describe `info` and `len`, which live
    // beyond the call; the kernel writes no more than `len` bytes.
    let failed = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut len)
    };
    let unanswered = info.tcpi_retransmits.max(info.tcpi_probes) >= UNANSWERED;
    (failed == 0 && unanswered).then(|| Duration::from_millis(info.tcpi_last_ack_recv.into()))
}
