//! SQLx, unmodified: column types, prepared statements, transactions, several results, large rows, errors, pools and
//! reconnecting. All with TLS or all without, as it is told. Checks its answers itself; a wrong one ends the program with a message.

mod check;
mod pools;
mod queries;
mod types;

use std::process::ExitCode;

use check::{Outcome, must, options};
use sqlx::ConnectOptions;

async fn run() -> Outcome {
    let options = options()?.disable_statement_logging();
    let mut connection = must("connect", options.connect().await)?;
    queries::prepared(&mut connection).await?;
    queries::transactions(&mut connection, &options).await?;
    queries::several_results(&mut connection).await?;
    queries::large(&mut connection).await?;
    queries::errors(&mut connection).await?;
    types::all(&mut connection).await?;
    pools::concurrent(&options).await?;
    pools::killed(&options).await?;
    pools::refused(options).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("sqlx_client: {message}");
            ExitCode::FAILURE
        }
    }
}
