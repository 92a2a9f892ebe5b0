// The go-sql-driver, unmodified: pools, prepared statements and interpolated ones, transactions, TLS, compression,
// contexts that end in mid-statement, errors, several results. Checks its answers itself; a wrong one ends the
// program with a message.
package main

import (
	"context"
	"database/sql"
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

func open(parameters string) *sql.DB {
	name := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?%s", os.Getenv("WEIR_TEST_USER"), os.Getenv("WEIR_TEST_PASSWORD"),
		os.Getenv("WEIR_TEST_HOST"), os.Getenv("WEIR_TEST_PORT"), os.Getenv("WEIR_TEST_DATABASE"), parameters)
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

func expectCode(what string, err error, code uint16) {
	var server *mysql.MySQLError
	if !errors.As(err, &server) || server.Number != code {
		fail(fmt.Sprintf("%s: error %d expected", what, code), err)
	}
}

// queries runs on every way of connecting.
func queries(db *sql.DB, how string) {
	_, err := db.Exec("DROP TABLE IF EXISTS go_items")
	must(how+" drop", err)
	_, err = db.Exec("CREATE TABLE go_items (id INT AUTO_INCREMENT PRIMARY KEY, v INT, t TIMESTAMP(6) NULL, b LONGBLOB)")
	must(how+" create", err)
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
	expectCode(how+" duplicate", insertDuplicate(db), 1062)
	_, err = db.Exec("SELEC")
	expectCode(how+" syntax", err, 1064)
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
	expectCode("a write in a read-only transaction", err, 1792)
	must("rollback", tx.Rollback())
	_, err = db.Exec("UPDATE go_items SET v = v")
	must("a write after it", err)
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
		"clientFoundRows=true&columnsWithAlias=true", "charset=latin1", "checkConnLiveness=false&maxAllowedPacket=0"}
	if os.Getenv("WEIR_TEST_TLS") == "1" {
		ways = append(ways, "tls=skip-verify", "tls=skip-verify&compress=true&interpolateParams=true")
	}
	for _, way := range ways {
		db := open(way)
		db.SetMaxOpenConns(10)
		queries(db, "["+way+"]")
		must("close", db.Close())
	}
	db := open("")
	defer db.Close()
	transactions(db)
	cancellation(db)
	severalResults()
	sessionState(db)
	wrong, err := sql.Open("mysql", fmt.Sprintf("%s:wrong@tcp(%s:%s)/", os.Getenv("WEIR_TEST_USER"),
		os.Getenv("WEIR_TEST_HOST"), os.Getenv("WEIR_TEST_PORT")))
	must("open", err)
	expectCode("a wrong password", wrong.Ping(), 1045)
}
