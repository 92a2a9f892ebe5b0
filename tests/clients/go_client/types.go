package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
)

// A column type of types.json, with its value as SQL and as a client must get it.
type column struct {
	Name, Type, Literal, Only string
	Expected, Mariadb, Mysql  *string
	Hex                       *string `json:"expected_hex"`
}

func columns() []column {
	var table struct{ Columns []column }
	text, err := os.ReadFile(os.Getenv("WEIR_TEST_TYPES"))
	must("types.json", err)
	must("types.json", json.Unmarshal(text, &table))
	var there []column
	for _, each := range table.Columns {
		// The driver knows no VECTOR.
		if (each.Only == "" || each.Only == os.Getenv("WEIR_TEST_FLAVOR")) && each.Name != "vector" {
			there = append(there, each)
		}
	}
	return there
}

// expected gives the value as the text protocol sends it.
func (c column) expected() string {
	if c.Hex != nil {
		bytes, err := hex.DecodeString(*c.Hex)
		must(c.Name, err)
		return string(bytes)
	}
	own := c.Mysql
	if os.Getenv("WEIR_TEST_FLAVOR") == "mariadb" {
		own = c.Mariadb
	}
	if own == nil {
		own = c.Expected
	}
	return *own
}

// check compares what the driver gave, which is bytes or a number.
func (c column) check(how string, got any) {
	expected := c.expected()
	right := false
	switch value := got.(type) {
	case []byte:
		right = string(value) == expected || strings.HasPrefix(c.Type, "FLOAT") && sameNumber(string(value), expected)
	case int64, uint64:
		right = fmt.Sprint(value) == expected
	case float32:
		right = sameNumber(strconv.FormatFloat(float64(value), 'g', -1, 32), expected)
	case float64:
		right = sameNumber(strconv.FormatFloat(value, 'g', -1, 64), expected)
	}
	if !right {
		fail(fmt.Sprintf("%s %s: %q expected", how, c.Name, expected), fmt.Sprintf("%T %q", got, got))
	}
}

func sameNumber(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, okToo := new(big.Rat).SetString(b)
	return ok && okToo && x.Cmp(y) == 0
}

// types reads each type by text and by a prepared statement, and writes back what it read.
func types(parameters string) {
	db := open(parameters)
	defer db.Close()
	ctx := context.Background()
	connection, err := db.Conn(ctx)
	must("a connection", err)
	defer connection.Close()
	all := columns()
	run := func(text string, values ...any) {
		_, err := connection.ExecContext(ctx, text, values...)
		must(text[:min(len(text), 60)], err)
	}
	run("SET time_zone = '+00:00'")
	run("DROP TABLE IF EXISTS go_types")
	run("CREATE TABLE go_types (id INT PRIMARY KEY, " + list(all, "`{name}` {type} NULL") + ")")
	run("INSERT INTO go_types VALUES (1, " + list(all, "{literal}") + ")")
	run("INSERT INTO go_types (id) VALUES (2)")
	selecting := "SELECT " + list(all, "`{name}`") + " FROM go_types WHERE id <= 2"
	for how, rows := range map[string][][]any{
		"by text":  read(connection, len(all), selecting+" ORDER BY id"),
		"prepared": read(connection, len(all), selecting+" AND id > ? ORDER BY id", 0),
	} {
		for at, each := range all {
			each.check(how, rows[0][at])
			if rows[1][at] != nil {
				fail(how+" NULL of "+each.Name, rows[1][at])
			}
		}
		for id, row := range rows {
			for at, each := range all {
				// The driver sends bytes as binary, which is not what text was.
				if bytes, ok := row[at].([]byte); ok && each.Hex == nil {
					row[at] = string(bytes)
				}
			}
			run("DELETE FROM go_types WHERE id = 3")
			run("INSERT INTO go_types VALUES (3"+strings.Repeat(", ?", len(all))+")", row...)
			compare := fmt.Sprintf("FROM go_types a, go_types b WHERE a.id = %d AND b.id = 3", id+1)
			agree := read(connection, len(all), "SELECT "+list(all, "CAST(a.`{name}` <=> b.`{name}` AS CHAR) ")+compare)[0]
			for at, each := range all {
				if string(agree[at].([]byte)) != "1" {
					fail(how+", then as a parameter: "+each.Name, row[at])
				}
			}
		}
	}
}

func list(all []column, form string) string {
	var parts []string
	for _, each := range all {
		parts = append(parts, strings.NewReplacer("{name}", each.Name, "{type}", each.Type, "{literal}", each.Literal).Replace(form))
	}
	return strings.Join(parts, ", ")
}

func read(connection *sql.Conn, width int, query string, values ...any) [][]any {
	rows, err := connection.QueryContext(context.Background(), query, values...)
	must("select", err)
	defer rows.Close()
	var all [][]any
	for rows.Next() {
		row := make([]any, width)
		into := make([]any, width)
		for at := range row {
			into[at] = &row[at]
		}
		must("scan", rows.Scan(into...))
		all = append(all, row)
	}
	must("rows", rows.Err())
	return all
}
