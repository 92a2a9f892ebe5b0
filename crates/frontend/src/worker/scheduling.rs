//! The scheduling policy of worker threads: SCHED_BATCH of sched(7), or the system's default.
//!
//! A worker that is woken for each single packet, and each time pushes a server's or a client's thread from its processor,
//! costs all of them more than it gains: on a machine that they share and that has no idle processor, batch scheduling
//! lets packets gather. Where a processor is idle it changes nothing. (Measured: docs/performance.md.)
//!
//! `unsafe`: no crate in use wraps this system call; its arguments are integers and a structure on the stack.
#![allow(unsafe_code)]

/// Has this thread not push others from their processor when it is woken. A failure leaves it as it is, which costs speed
/// only.
pub(super) fn batch() {
    // SAFETY: all fields of the structure are integers, for which zero is a value; batch scheduling takes priority 0.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the pointer is to a structure that lives beyond the call, which only reads it.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } != 0 {
        tracing::debug!(error = %std::io::Error::last_os_error(), "batch scheduling could not be set");
    }
}
