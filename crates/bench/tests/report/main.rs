//! The report of a bench, as its readers get it: Markdown against a file kept here, and the page in a real browser.

mod browser;
mod markdown;
mod page;
mod sample;
