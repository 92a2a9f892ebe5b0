//! How the checks connect, and how they tell what is wrong: the program ends with the first wrong answer.

use std::env::var;
use std::fmt::Debug;

use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlSslMode};

/// A check's outcome; the message of a failure says what was asked.
pub type Outcome<T = ()> = Result<T, String>;

/// The options for the endpoint that the environment names. With TLS, or else without: SQLx falls back to neither.
pub fn options() -> Outcome<MySqlConnectOptions> {
    let setting = |name: &str| var(name).map_err(|error| format!("{name}: {error}"));
    let port = setting("WEIR_TEST_PORT")?.parse().map_err(|error| format!("WEIR_TEST_PORT: {error}"))?;
    let tls = setting("WEIR_TEST_TLS")? == "1";
    Ok(MySqlConnectOptions::new()
        .host(&setting("WEIR_TEST_HOST")?)
        .port(port)
        .username(&setting("WEIR_TEST_USER")?)
        .password(&setting("WEIR_TEST_PASSWORD")?)
        .database(&setting("WEIR_TEST_DATABASE")?)
        .ssl_mode(if tls { MySqlSslMode::Required } else { MySqlSslMode::Disabled }))
}

/// The value, if `got` has one.
pub fn must<T, E: Debug>(what: &str, got: Result<T, E>) -> Outcome<T> {
    got.map_err(|error| format!("{what}: {error:?}"))
}

/// Compares.
pub fn same<T: PartialEq + Debug>(what: &str, got: T, expected: T) -> Outcome {
    if got == expected { Ok(()) } else { Err(format!("{what}: {expected:?} expected, got {got:?}")) }
}

/// Whether `got` is the server's error with this code and SQLSTATE.
pub fn refused<T>(what: &str, got: Result<T, sqlx::Error>, code: u16, state: &str) -> Outcome {
    match got {
        Ok(_) => Err(format!("{what}: error {code} expected")),
        Err(sqlx::Error::Database(error)) => {
            let error = error.downcast_ref::<MySqlDatabaseError>();
            same(what, (error.number(), error.code().unwrap_or_default()), (code, state))
        }
        Err(other) => Err(format!("{what}: error {code} expected, got {other:?}")),
    }
}
