//! The way from those who log to the file: a bounded queue, and a thread that empties it.
//!
//! What must always hold: nothing here waits for the disk but the thread. A queue that is full takes no line; what the
//! thread can't write it keeps and tries again, or drops and counts, as it was made to.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::LogError;
use super::file::{FileSettings, LogFile};
use super::line::LogLine;

/// The most lines that wait to be written.
const MOST_WAITING: usize = 8192;
/// Lines are written together up to this number of bytes.
const BATCH: usize = 64 << 10;
/// How soon a file that could not be written is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long the answer to a command is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

enum Message {
    Line(Box<LogLine>),
    Rotate(oneshot::Sender<io::Result<()>>),
    End(Sender<bool>),
}

#[derive(Debug, Default)]
struct State {
    waiting: AtomicUsize,
    lines: AtomicU64,
    lost: AtomicU64,
    fails: AtomicBool,
    why: Mutex<String>,
}

impl State {
    /// Takes a place in the queue if there is one.
    fn reserve(&self) -> bool {
        let one_more = |waiting: usize| (waiting < MOST_WAITING).then_some(waiting + 1);
        self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    fn wrote(&self, lines: usize) {
        self.lines.fetch_add(lines as u64, Ordering::Relaxed);
        self.fails.store(false, Ordering::Relaxed);
    }

    fn failed(&self, name: &str, error: &io::Error) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
        if !self.fails.swap(true, Ordering::Relaxed) {
            tracing::error!(log = name, %error, "the log can't be written");
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Writer {
    state: Arc<State>,
    messages: Sender<Message>,
}

/// A place in the queue, kept for one line.
#[derive(Debug)]
pub struct Slot(Option<Arc<State>>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            state.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    /// Opens the file, and starts the thread. `keeps`: what can't be written is kept and tried again.
    ///
    /// # Errors
    /// When the file can't be opened, or there is no thread.
    pub fn start(name: &'static str, settings: FileSettings, keeps: bool) -> Result<Writer, LogError> {
        let path = settings.path.clone();
        let failed = |source| LogError { path: path.clone(), source };
        let file = LogFile::open(settings).map_err(failed)?;
        let state = Arc::new(State::default());
        let (messages, arriving) = channel();
        let thread = Thread { name, state: state.clone(), file, keeps, batch: Vec::new(), in_batch: 0 };
        let builder = std::thread::Builder::new().name(format!("weir-{name}-log"));
        builder.spawn(move || thread.run(&arriving)).map_err(failed)?;
        Ok(Writer { state, messages })
    }

    /// Lines written.
    pub fn lines(&self) -> u64 {
        self.state.lines.load(Ordering::Relaxed)
    }

    /// Lines that were lost: the queue was full, or the file could not be written.
    pub fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }

    /// Why the file can't be written now, if it can't.
    pub fn failing(&self) -> Option<String> {
        let fails = self.state.fails.load(Ordering::Relaxed);
        fails.then(|| self.state.why.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// A place for a line that will come.
    ///
    /// # Errors
    /// Why the line could not be written.
    pub fn reserve(&self) -> Result<Slot, String> {
        if let Some(why) = self.failing() {
            return Err(why);
        }
        match self.state.reserve() {
            true => Ok(Slot(Some(self.state.clone()))),
            false => Err(format!("{MOST_WAITING} lines are waiting to be written")),
        }
    }

    /// Queues a line for which there is a place.
    pub fn fill(&self, mut slot: Slot, line: LogLine) {
        // The thread gives the place back.
        slot.0 = None;
        let _ = self.messages.send(Message::Line(Box::new(line)));
    }

    /// Queues a line, if it fits.
    pub fn log(&self, line: LogLine) {
        if self.state.reserve() {
            let _ = self.messages.send(Message::Line(Box::new(line)));
        } else {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) async fn rotate(&self) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        let _ = self.messages.send(Message::Rotate(answer));
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(rotated)) => rotated.map_err(|error| error.to_string()),
            Ok(Err(_)) => Err("its thread has ended".to_owned()),
            Err(_) => Err(format!("the disk has not answered for {} s", PATIENCE.as_secs())),
        }
    }

    /// Writes what is queued, for at most so long. False if not all of it could be written.
    pub(super) fn close(&self, bound: Duration) -> bool {
        let (end, ended) = channel();
        let _ = self.messages.send(Message::End(end));
        ended.recv_timeout(bound).unwrap_or(false)
    }
}

struct Thread {
    name: &'static str,
    state: Arc<State>,
    file: LogFile,
    keeps: bool,
    batch: Vec<u8>,
    in_batch: usize,
}

impl Thread {
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let first = match self.batch.is_empty() {
                true => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                // What could not be written is tried again.
                false => {
                    std::thread::sleep(AGAIN);
                    messages.try_recv().map_err(|_| RecvTimeoutError::Timeout)
                }
            };
            let mut next = match first {
                Err(RecvTimeoutError::Disconnected) => return,
                other => other.ok(),
            };
            loop {
                match next {
                    Some(Message::Line(line)) => self.take(&line),
                    Some(Message::Rotate(answer)) => {
                        self.write();
                        let _ = answer.send(self.file.rotate());
                    }
                    Some(Message::End(ended)) => {
                        self.write();
                        let _ = ended.send(self.batch.is_empty());
                        return;
                    }
                    None => break,
                }
                if self.batch.len() >= BATCH {
                    break;
                }
                next = messages.try_recv().ok();
            }
            self.write();
        }
    }

    fn take(&mut self, line: &LogLine) {
        line.put(&mut self.batch);
        self.in_batch += 1;
    }

    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        match self.file.write(&self.batch) {
            Ok(()) => self.state.wrote(self.in_batch),
            Err(error) => {
                self.state.failed(self.name, &error);
                if self.keeps {
                    return;
                }
                self.state.lost.fetch_add(self.in_batch as u64, Ordering::Relaxed);
            }
        }
        self.state.waiting.fetch_sub(self.in_batch, Ordering::Relaxed);
        self.batch.clear();
        self.in_batch = 0;
    }
}
