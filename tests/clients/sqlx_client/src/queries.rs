//! Prepared statements, transactions, several results, large rows, errors.

use futures_util::TryStreamExt;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection, Either, Executor, MySql, MySqlConnection, Row};

use crate::check::{Outcome, must, refused, same};

/// Runs a text that is not prepared.
pub async fn run(connection: &mut MySqlConnection, text: &str) -> Outcome {
    must(text, sqlx::raw_sql(text).execute(connection).await).map(|_| ())
}

async fn count(connection: &mut MySqlConnection) -> Outcome<i64> {
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM sqlx_items");
    must("count", count.fetch_one(connection).await)
}

/// Many executions of one statement, and a statement whose table changes under it.
pub async fn prepared(connection: &mut MySqlConnection) -> Outcome {
    run(connection, "DROP TABLE IF EXISTS sqlx_items").await?;
    run(connection, "CREATE TABLE sqlx_items (id INT AUTO_INCREMENT PRIMARY KEY, v BIGINT, b LONGBLOB)").await?;
    for value in 0..200_i64 {
        let insert = sqlx::query("INSERT INTO sqlx_items (v) VALUES (?)").bind(value);
        let done = must("insert", insert.execute(&mut *connection).await)?;
        same("insert id", (done.last_insert_id(), done.rows_affected()), (value as u64 + 1, 1))?;
    }
    for value in 0..200_i64 {
        let found = sqlx::query_scalar::<_, i32>("SELECT id FROM sqlx_items WHERE v = ?").bind(value);
        same("a row by a prepared statement", must("id", found.fetch_one(&mut *connection).await)?, value as i32 + 1)?;
    }
    let all = "SELECT * FROM sqlx_items WHERE id = ?";
    let before = must("before DDL", sqlx::query(all).bind(1).fetch_one(&mut *connection).await)?;
    same("columns before DDL", before.len(), 3)?;
    run(connection, "ALTER TABLE sqlx_items ADD COLUMN name VARCHAR(20) DEFAULT 'new' AFTER id").await?;
    let found = sqlx::query_scalar::<_, i32>("SELECT id FROM sqlx_items WHERE v = ?").bind(7_i64);
    same("a cached statement after DDL", must("id", found.fetch_one(&mut *connection).await)?, 8)?;
    // SQLx keeps a cached statement's column names.
    must("clear", connection.clear_cached_statements().await)?;
    let after = must("after DDL", sqlx::query(all).bind(1).fetch_one(&mut *connection).await)?;
    same("a column after DDL", must("name", after.try_get("name"))?, "new".to_owned())?;
    for round in 0..150 {
        // More texts than SQLx caches (100): it closes the oldest.
        let text = format!("SELECT {round} + ?");
        let sum: i64 = must("sum", sqlx::query_scalar(&text).bind(1_i64).fetch_one(&mut *connection).await)?;
        same("one of many texts", sum, round + 1)?;
    }
    Ok(())
}

/// Commit, rollback, savepoints, isolation and read-only transactions.
pub async fn transactions(connection: &mut MySqlConnection, options: &MySqlConnectOptions) -> Outcome {
    let mut other = must("connect", MySqlConnection::connect_with(options).await)?;
    let mut outer = must("begin", connection.begin().await)?;
    run(&mut outer, "DELETE FROM sqlx_items WHERE id <= 10").await?;
    same("seen inside", count(&mut outer).await?, 190)?;
    same("not seen outside", count(&mut other).await?, 200)?;
    let mut inner = must("savepoint", outer.begin().await)?;
    run(&mut inner, "DELETE FROM sqlx_items").await?;
    must("rollback to it", inner.rollback().await)?;
    same("after the savepoint", count(&mut outer).await?, 190)?;
    must("commit", outer.commit().await)?;
    same("committed", count(&mut other).await?, 190)?;
    let mut dropped = must("begin", connection.begin().await)?;
    run(&mut dropped, "DELETE FROM sqlx_items").await?;
    drop(dropped); // Rolled back before the connection's next statement.
    same("after a dropped transaction", count(connection).await?, 190)?;
    isolated(connection, &mut other).await?;
    let mut reading = must("read only", connection.begin_with("START TRANSACTION READ ONLY").await)?;
    let write = sqlx::raw_sql("DELETE FROM sqlx_items").execute(&mut *reading).await;
    refused("a write in a read-only transaction", write, 1792, "25006")?;
    must("rollback", reading.rollback().await)?;
    must("close", other.close().await)
}

async fn isolated(connection: &mut MySqlConnection, other: &mut MySqlConnection) -> Outcome {
    for (level, seen) in [("REPEATABLE READ", 190), ("READ COMMITTED", 191)] {
        run(connection, &format!("SET TRANSACTION ISOLATION LEVEL {level}")).await?;
        let mut transaction = must("begin", connection.begin().await)?;
        same(level, count(&mut transaction).await?, 190)?;
        run(other, "INSERT INTO sqlx_items (id) VALUES (1)").await?;
        same(level, count(&mut transaction).await?, seen)?;
        must("rollback", transaction.rollback().await)?;
        run(other, "DELETE FROM sqlx_items WHERE id = 1").await?;
    }
    Ok(())
}

/// Several statements in one text, and a procedure's several results.
pub async fn several_results(connection: &mut MySqlConnection) -> Outcome {
    let three = "SELECT 1; UPDATE sqlx_items SET v = v + 1 WHERE id = 11; SELECT 2 UNION ALL SELECT 3";
    same(
        "several statements",
        shape(connection, sqlx::raw_sql(three)).await?,
        "1 end(0) end(1) 2 3 end(0) ".to_owned(),
    )?;
    run(connection, "DROP PROCEDURE IF EXISTS sqlx_both").await?;
    run(connection, "CREATE PROCEDURE sqlx_both(a INT) BEGIN SELECT a; SELECT a + 1 UNION ALL SELECT a + 2; END")
        .await?;
    let expected = "5 end(0) 6 7 end(0) end(0) ".to_owned();
    same("a procedure by text", shape(connection, sqlx::raw_sql("CALL sqlx_both(5)")).await?, expected.clone())?;
    same("a procedure, prepared", shape(connection, sqlx::query("CALL sqlx_both(?)").bind(5)).await?, expected)
}

/// The first column of each row, and where results end with how many rows changed.
async fn shape<'q>(connection: &mut MySqlConnection, query: impl sqlx::Execute<'q, MySql> + 'q) -> Outcome<String> {
    let mut stream = connection.fetch_many(query);
    let mut shape = String::new();
    while let Some(item) = must("several results", stream.try_next().await)? {
        shape += &match item {
            Either::Left(done) => format!("end({}) ", done.rows_affected()),
            Either::Right(row) => format!("{} ", must("a column", row.try_get::<i64, _>(0))?),
        };
    }
    Ok(shape)
}

/// A blob of 20 MB there and back.
pub async fn large(connection: &mut MySqlConnection) -> Outcome {
    let blob: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 251) as u8).collect();
    let insert = sqlx::query("INSERT INTO sqlx_items (id, b) VALUES (1000, ?)").bind(&blob);
    must("a blob of 20 MB", insert.execute(&mut *connection).await)?;
    let back = sqlx::query_scalar::<_, Vec<u8>>("SELECT b FROM sqlx_items WHERE id = 1000");
    same("a blob of 20 MB back", must("blob", back.fetch_one(&mut *connection).await)? == blob, true)?;
    run(connection, "DELETE FROM sqlx_items WHERE id = 1000").await
}

/// Errors with their SQLSTATEs, by text and prepared; the connection goes on.
pub async fn errors(connection: &mut MySqlConnection) -> Outcome {
    let wrong = [
        ("INSERT INTO sqlx_items (id) VALUES (11)", 1062, "23000"),
        ("SELEC 1", 1064, "42000"),
        ("SELECT * FROM sqlx_nowhere", 1146, "42S02"),
    ];
    for (text, code, state) in wrong {
        refused(text, sqlx::raw_sql(text).execute(&mut *connection).await, code, state)?;
        refused(text, sqlx::query(text).execute(&mut *connection).await, code, state)?;
    }
    must("ping", connection.ping().await)
}
