//! SQLx's pool: many tasks over few connections, connections that are killed, logins that are refused.

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{Connection, Row};
use tokio::task::JoinSet;

use crate::check::{Outcome, must, same};

const TASKS: i64 = 50;

async fn pool(options: &MySqlConnectOptions, connections: u32) -> Outcome<MySqlPool> {
    let pool = MySqlPoolOptions::new().max_connections(connections).connect_with(options.clone());
    must("a pool", pool.await)
}

/// Each task sees its own session, and what all have written is there in the end.
pub async fn concurrent(options: &MySqlConnectOptions) -> Outcome {
    let pool = pool(options, 10).await?;
    must("drop", sqlx::query("DROP TABLE IF EXISTS sqlx_tasks").execute(&pool).await)?;
    must("create", sqlx::query("CREATE TABLE sqlx_tasks (task INT, round INT)").execute(&pool).await)?;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(work(pool.clone(), task));
    }
    while let Some(done) = tasks.join_next().await {
        must("a task", done)??;
    }
    let written = sqlx::query_scalar::<_, i64>("SELECT COUNT(DISTINCT task, round) FROM sqlx_tasks");
    same("rows of all tasks", must("count", written.fetch_one(&pool).await)?, TASKS * 4)?;
    pool.close().await;
    Ok(())
}

async fn work(pool: MySqlPool, task: i64) -> Outcome {
    for round in 0..4_i64 {
        let mut connection = must("acquire", pool.acquire().await)?;
        must("set", sqlx::query("SET @task = ?").bind(task).execute(&mut *connection).await)?;
        let row = sqlx::query("SELECT @task, ? + 0").bind(round).fetch_one(&mut *connection).await;
        let row = must("select", row)?;
        same("a task's session", (row.get::<i64, _>(0), row.get::<i64, _>(1)), (task, round))?;
        let insert = sqlx::query("INSERT INTO sqlx_tasks VALUES (@task, ?)").bind(round);
        must("insert", insert.execute(&mut *connection).await)?;
    }
    Ok(())
}

/// A connection that is killed fails its next statement; the pool notices, and makes another.
pub async fn killed(options: &MySqlConnectOptions) -> Outcome {
    let pool = pool(options, 1).await?;
    let id = "SELECT CONNECTION_ID()";
    let mut connection = must("acquire", pool.acquire().await)?;
    let first: u64 = must("its id", sqlx::query_scalar(id).fetch_one(&mut *connection).await)?;
    if sqlx::raw_sql(&format!("KILL {first}")).execute(&mut *connection).await.is_ok() {
        // The server may have answered before it closed.
        let after = sqlx::raw_sql("DO 1").execute(&mut *connection).await;
        same("a statement of a killed connection", after.is_err(), true)?;
    }
    drop(connection);
    let second: u64 = must("the pool after a KILL", sqlx::query_scalar(id).fetch_one(&pool).await)?;
    same("another connection", second != first, true)?;
    pool.close().await;
    Ok(())
}

/// Logins with a wrong password, or to a database that isn't there.
pub async fn refused(options: MySqlConnectOptions) -> Outcome {
    let wrong = sqlx::MySqlConnection::connect_with(&options.clone().password("wrong")).await;
    crate::check::refused("a wrong password", wrong, 1045, "28000")?;
    let nowhere = sqlx::MySqlConnection::connect_with(&options.database("t_no_such_database")).await;
    match nowhere {
        Err(sqlx::Error::Database(error)) => {
            let code = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>().number();
            same("an unknown database", [1044, 1049].contains(&code), true)
        }
        other => Err(format!("an unknown database: {:?}", other.map(|_| ()))),
    }
}
