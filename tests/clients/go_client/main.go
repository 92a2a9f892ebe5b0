// The go-sql-driver, unmodified: pools, prepared statements and interpolated ones, column types, transactions,
// compression, contexts that end in mid-statement, errors, several results, large rows, reconnecting. All with TLS or all
// without, as it is told. Checks its answers itself; a wrong one ends the program with a message.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

func fail(what string, got any) {
	fmt.Printf("go_client: %s: got %v\n", what, got)
	os.Exit(1)
}

func must(what string, err error) {
	if err != nil {
		fail(what, err)
	}
}

// open gives a pool with these parameters, and TLS if told so: the driver does not fall back.
func open(parameters string) *sql.DB {
	tls := "false"
	if os.Getenv("WEIR_TEST_TLS") == "1" {
		tls = "skip-verify"
	}
	name := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?tls=%s&%s", os.Getenv("WEIR_TEST_USER"), os.Getenv("WEIR_TEST_PASSWORD"),
		os.Getenv("WEIR_TEST_HOST"), os.Getenv("WEIR_TEST_PORT"), os.Getenv("WEIR_TEST_DATABASE"), tls, parameters)
	db, err := sql.Open("mysql", name)
	must("open "+parameters, err)
	return db
}

func number(what string, row *sql.Row, expected int64) {
	var got int64
	must(what, row.Scan(&got))
	if got != expected {
		fail(fmt.Sprintf("%s: %d expected", what, expected), got)
	}
}

func expectError(what string, err error, code uint16, state string) {
	var server *mysql.MySQLError
	if !errors.As(err, &server) || server.Number != code || string(server.SQLState[:]) != state {
		fail(fmt.Sprintf("%s: error %d (%s) expected", what, code, state), err)
	}
}

func run(db *sql.DB, texts ...string) {
	for _, text := range texts {
		_, err := db.Exec(text)
		must(text, err)
	}
}

// queries runs on every way of connecting.
func queries(db *sql.DB, how string) {
	run(db, "DROP TABLE IF EXISTS go_items",
		"CREATE TABLE go_items (id INT AUTO_INCREMENT PRIMARY KEY, v INT, t TIMESTAMP(6) NULL, b LONGBLOB)")
	result, err := db.Exec("INSERT INTO go_items (v, b) VALUES (?, ?), (?, ?)", 1, []byte{0, 255, '\''}, 2, nil)
	must(how+" insert", err)
	id, _ := result.LastInsertId()
	affected, _ := result.RowsAffected()
	if id != 1 || affected != 2 {
		fail(how+" insert", result)
	}
	var v sql.NullInt64
	var b []byte
	must(how+" row", db.QueryRow("SELECT v, b FROM go_items WHERE id = ?", 1).Scan(&v, &b))
	if v.Int64 != 1 || string(b) != "\x00\xff'" {
		fail(how+" row", b)
	}
	big := strings.Repeat("weir ", 1_000_000)
	_, err = db.Exec("INSERT INTO go_items (v, b) VALUES (?, ?)", 3, big)
	must(how+" big", err)
	must(how+" big back", db.QueryRow("SELECT b FROM go_items WHERE v = 3").Scan(&b))
	if string(b) != big {
		fail(how+" big back", len(b))
	}
	statement, err := db.Prepare("SELECT COUNT(*) FROM go_items WHERE v > ?")
	must(how+" prepare", err)
	var group sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 30; round++ {
				limit := int64(round % 4)
				number(how+" prepared", statement.QueryRow(limit), 3-limit)
			}
		}()
	}
	group.Wait()
	must(how+" close", statement.Close())
	expectError(how+" duplicate", insertDuplicate(db), 1062, "23000")
	_, err = db.Exec("SELEC")
	expectError(how+" syntax", err, 1064, "42000")
	_, err = db.Query("SELECT * FROM go_nowhere WHERE id = ?", 1)
	expectError(how+" unknown table", err, 1146, "42S02")
}

func insertDuplicate(db *sql.DB) error {
	_, err := db.Exec("INSERT INTO go_items (id) VALUES (?)", 1)
	return err
}

func transactions(db *sql.DB) {
	tx, err := db.Begin()
	must("begin", err)
	_, err = tx.Exec("DELETE FROM go_items WHERE v = ?", 1)
	must("delete", err)
	number("inside", tx.QueryRow("SELECT COUNT(*) FROM go_items"), 2)
	number("outside", db.QueryRow("SELECT COUNT(*) FROM go_items"), 3)
	must("rollback", tx.Rollback())
	number("after", db.QueryRow("SELECT COUNT(*) FROM go_items"), 3)
	tx, err = db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	must("read only", err)
	_, err = tx.Exec("DELETE FROM go_items")
	expectError("a write in a read-only transaction", err, 1792, "25006")
	must("rollback", tx.Rollback())
	_, err = db.Exec("UPDATE go_items SET v = v")
	must("a write after it", err)
	isolation(db, sql.LevelRepeatableRead, 3)
	isolation(db, sql.LevelReadCommitted, 4)
	tx, err = db.Begin()
	must("begin", err)
	for _, text := range []string{"SAVEPOINT here", "DELETE FROM go_items", "ROLLBACK TO here", "DELETE FROM go_items WHERE v = 3"} {
		_, err = tx.Exec(text)
		must(text, err)
	}
	must("commit", tx.Commit())
	number("after the savepoint and the commit", db.QueryRow("SELECT COUNT(*) FROM go_items"), 2)
}

func isolation(db *sql.DB, level sql.IsolationLevel, seen int64) {
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
	must("begin", err)
	number("isolation", tx.QueryRow("SELECT COUNT(*) FROM go_items"), 3)
	run(db, "INSERT INTO go_items (id) VALUES (100)")
	number("isolation "+level.String(), tx.QueryRow("SELECT COUNT(*) FROM go_items"), seen)
	must("rollback", tx.Rollback())
	run(db, "DELETE FROM go_items WHERE id = 100")
}

// A prepared statement goes on when its table changes.
func ddl(db *sql.DB) {
	statement, err := db.Prepare("SELECT * FROM go_items WHERE id = ?")
	must("prepare", err)
	defer statement.Close()
	for _, expected := range []int{4, 5} {
		rows, err := statement.Query(1)
		must("a statement whose table changes", err)
		columns, err := rows.Columns()
		must("columns", err)
		if len(columns) != expected || !rows.Next() {
			fail("columns", columns)
		}
		must("close", rows.Close())
		if expected == 4 {
			run(db, "ALTER TABLE go_items ADD COLUMN name VARCHAR(20) AFTER id")
		}
	}
}

// A blob of 20 MB there and back, as a parameter and in the text.
func large(parameters string) {
	db := open(parameters)
	defer db.Close()
	blob := []byte(strings.Repeat("\x00weir\xff'\\\n\"", 2_000_000))
	_, err := db.Exec("INSERT INTO go_items (id, b) VALUES (1000, ?)", blob)
	must("a blob of 20 MB", err)
	var back []byte
	must("a blob of 20 MB", db.QueryRow("SELECT b FROM go_items WHERE id = ?", 1000).Scan(&back))
	if !bytes.Equal(back, blob) {
		fail("a blob of 20 MB", len(back))
	}
	run(db, "DELETE FROM go_items WHERE id = 1000")
}

// A context that ends makes the driver drop its connection in mid-statement; the pool's other work goes on.
func cancellation(db *sql.DB) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := db.ExecContext(ctx, "SELECT SLEEP(30)")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 20*time.Second {
		fail("a context that ends", err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	must("begin", err)
	_, err = tx.Exec("UPDATE go_items SET v = 100 WHERE id = 1")
	must("update", err)
	ctx, cancelNow := context.WithCancel(context.Background())
	cancelNow()
	_, err = tx.ExecContext(ctx, "SELECT 1")
	if !errors.Is(err, context.Canceled) {
		fail("a context that has ended", err)
	}
	_ = tx.Rollback()
	number("undone", db.QueryRow("SELECT COUNT(*) FROM go_items WHERE v = 100"), 0)
}

func severalResults() {
	db := open("multiStatements=true")
	defer db.Close()
	rows, err := db.Query("SELECT 1; SELECT 2, 3; SELECT 4")
	must("several results", err)
	sets := 1
	for rows.NextResultSet() {
		sets++
	}
	must("several results", rows.Err())
	if sets != 3 {
		fail("several results", sets)
	}
	must("close", rows.Close())
	run(db, "DROP PROCEDURE IF EXISTS go_both",
		"CREATE PROCEDURE go_both(a INT) BEGIN SELECT a; SELECT a + 1 UNION ALL SELECT a + 2; END")
	rows, err = db.Query("CALL go_both(?)", 5)
	must("a procedure", err)
	got := ""
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var value string
			must("a procedure's row", rows.Scan(&value))
			got += value + " "
		}
		got += "end "
	}
	must("a procedure", rows.Err())
	if got != "5 end 6 7 end " {
		fail("a procedure's results", got)
	}
}

// A connection that is killed is not given to anyone again.
func killed() {
	db, other := open(""), open("")
	defer db.Close()
	defer other.Close()
	db.SetMaxOpenConns(1)
	var first, second int64
	must("id", db.QueryRow("SELECT CONNECTION_ID()").Scan(&first))
	run(other, fmt.Sprintf("KILL %d", first))
	ctx := context.Background()
	connection, err := db.Conn(ctx)
	must("a connection", err)
	// The server ends it some time after its answer, and may say why first; the pool may have seen that, and made another.
	for tries := 0; ; tries++ {
		err = connection.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&second)
		gone := errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
		if gone || err == nil && second != first {
			break
		}
		if tries == 1000 {
			fail("a killed connection still answers", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = connection.Close()
	must("another connection", db.QueryRow("SELECT CONNECTION_ID()").Scan(&second))
	if second == first {
		fail("another connection", second)
	}
}

// Many tasks over few connections, each with its own session while it has one.
func concurrent() {
	db := open("")
	defer db.Close()
	db.SetMaxOpenConns(10)
	run(db, "DROP TABLE IF EXISTS go_tasks", "CREATE TABLE go_tasks (task INT, round INT)")
	ctx := context.Background()
	var group sync.WaitGroup
	for task := 0; task < 50; task++ {
		group.Add(1)
		go func(task int64) {
			defer group.Done()
			for round := 0; round < 4; round++ {
				connection, err := db.Conn(ctx)
				must("a connection", err)
				_, err = connection.ExecContext(ctx, "SET @task = ?", task)
				must("set", err)
				number("a task's session", connection.QueryRowContext(ctx, "SELECT @task"), task)
				_, err = connection.ExecContext(ctx, "INSERT INTO go_tasks VALUES (@task, ?)", round)
				must("insert", err)
				must("close", connection.Close())
			}
		}(int64(task))
	}
	group.Wait()
	number("rows of all tasks", db.QueryRow("SELECT COUNT(DISTINCT task, round) FROM go_tasks"), 200)
}

func sessionState(db *sql.DB) {
	ctx := context.Background()
	connection, err := db.Conn(ctx)
	must("a connection", err)
	defer connection.Close()
	_, err = connection.ExecContext(ctx, "SET @x = 5, time_zone = '+04:00'")
	must("set", err)
	var x int
	var zone string
	must("state", connection.QueryRowContext(ctx, "SELECT @x, @@time_zone").Scan(&x, &zone))
	if x != 5 || zone != "+04:00" {
		fail("state", zone)
	}
}

func main() {
	ways := []string{"", "interpolateParams=true", "compress=true", "parseTime=true&loc=UTC&time_zone=%27%2B00%3A00%27",
		"clientFoundRows=true&columnsWithAlias=true", "charset=latin1", "checkConnLiveness=false&maxAllowedPacket=0",
		"compress=true&interpolateParams=true", "collation=utf8mb4_bin"}
	for _, way := range ways {
		db := open(way)
		db.SetMaxOpenConns(10)
		queries(db, "["+way+"]")
		must("close", db.Close())
	}
	db := open("")
	defer db.Close()
	transactions(db)
	ddl(db)
	large("")
	large("interpolateParams=true")
	cancellation(db)
	severalResults()
	sessionState(db)
	types("")
	types("interpolateParams=true")
	concurrent()
	killed()
	wrong, err := sql.Open("mysql", fmt.Sprintf("%s:wrong@tcp(%s:%s)/", os.Getenv("WEIR_TEST_USER"),
		os.Getenv("WEIR_TEST_HOST"), os.Getenv("WEIR_TEST_PORT")))
	must("open", err)
	expectError("a wrong password", wrong.Ping(), 1045, "28000")
}
