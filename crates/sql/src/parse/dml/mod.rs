//! Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, LOAD.

mod delete;
mod insert;
mod load;
#[cfg(test)]
mod tests;
mod update;
