//! Accounts: their names, users, roles, privileges.

mod authentication;
mod grant;
mod name;
mod option;
mod privilege;
mod user;

#[cfg(test)]
mod tests;
