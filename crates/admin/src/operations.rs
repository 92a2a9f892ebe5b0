//! What commands ask of the program around them: the binary puts an [`Operations`] in.

use std::fmt;
use std::pin::Pin;

use weir_wire::Failure;

/// Something that takes a while. It runs on the control runtime; dropping it does not stop what has begun.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

/// A key of the configuration, as it is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its section and name: `pool.max_queue`, `users.app.admin`.
    pub key: String,
    /// Its value; passwords are masked. `None`: unset.
    pub value: Option<String>,
    /// Where the value is from: `file`, `default`, or what has overridden both.
    pub source: &'static str,
}

/// What became of a changed key at a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is in effect.
    Applied,
    /// It will be after a restart, or a takeover by a new process.
    NeedsRestart,
}

impl ChangeOutcome {
    /// The words of the answer.
    pub fn name(self) -> &'static str {
        match self {
            ChangeOutcome::Applied => "applied",
            ChangeOutcome::NeedsRestart => "needs restart",
        }
    }
}

/// A key that a reload has found changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its section and name.
    pub key: String,
    /// What became of it.
    pub outcome: ChangeOutcome,
    /// The value before; passwords are masked.
    pub old: Option<String>,
    /// The value now; passwords are masked.
    pub new: Option<String>,
}

/// The program around the commands.
pub trait Operations: fmt::Debug + Send + Sync {
    /// The configuration in effect, passwords masked.
    fn settings(&self) -> Vec<Setting>;

    /// Changes how much is logged: a level, or a list such as `info,weir_backend=debug`.
    ///
    /// # Errors
    /// 1231 when it is no such list.
    fn set_log_level(&self, level: &str) -> Result<(), Failure>;

    /// Reads the configuration file again and applies what can be applied. Tells each key that has changed.
    ///
    /// # Errors
    /// 1210 when the file is wrong: nothing was changed.
    fn reload(&self) -> Later<Vec<Change>>;
}
