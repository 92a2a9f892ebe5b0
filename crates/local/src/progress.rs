//! How a long operation tells what it is doing; the command line draws it, tests stay quiet.

/// Receives the steps of a long operation. Steps don't nest: one ends, with [`Progress::done`], before the next begins.
pub trait Progress {
    /// A step begins, for example "Starting writer".
    fn step(&mut self, what: &str);

    /// The running step has ended well; `outcome` is what came of it ("port 23306"), or empty.
    fn done(&mut self, outcome: &str);

    /// Something that the user should know and that is no step.
    fn note(&mut self, text: &str);
}

/// Shows nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Quiet;

impl Progress for Quiet {
    fn step(&mut self, _what: &str) {}
    fn done(&mut self, _outcome: &str) {}
    fn note(&mut self, _text: &str) {}
}
