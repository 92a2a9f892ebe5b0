//! Servers that the tests of a module share, one test at a time.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::lab::Lab;

/// Starts the servers in a directory of theirs.
type Start<T> = fn(Flavor, &Path) -> Result<T, Failed>;

/// What tests of one kind of server share, started when the first test wants it.
pub(crate) struct Held<T> {
    start: Start<T>,
    held: Mutex<Option<(T, End)>>,
}

/// Lets the thread end that the servers die with.
struct End(Option<Sender<()>>, Option<JoinHandle<()>>);

impl Drop for End {
    fn drop(&mut self) {
        drop(self.0.take());
        if let Some(thread) = self.1.take() {
            let _panicked = thread.join();
        }
    }
}

impl<T: Send + 'static> Held<T> {
    pub(crate) fn new(start: Start<T>) -> Held<T> {
        Held { start, held: Mutex::default() }
    }

    /// Runs a test on the servers, alone.
    pub(crate) fn with(
        &self,
        lab: &Lab,
        flavor: Flavor,
        test: impl FnOnce(&mut T) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = Some(self.hold(lab, flavor)?);
        }
        let (servers, _) = held.as_mut().ok_or("just started")?;
        test(servers)
    }

    /// Starts the servers in a thread of their own, which lives as long as they do.
    fn hold(&self, lab: &Lab, flavor: Flavor) -> Result<(T, End), Failed> {
        let dir = lab.lasting_directory()?;
        let (give, given) = channel();
        let (end, ended) = channel::<()>();
        let start = self.start;
        let thread = std::thread::spawn(move || {
            let started = start(flavor, &dir);
            let _gone = give.send(started.map_err(|failed| failed.message().unwrap_or("no message").to_owned()));
            let _closed = ended.recv();
        });
        let end = End(Some(end), Some(thread));
        Ok((given.recv()??, end))
    }
}
