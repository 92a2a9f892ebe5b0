#!/bin/bash
# The command-line shells, unmodified. CLIENT is the program, CLIENT_KIND is mariadb or mysql.
# Checks its answers itself; ends with a message at the first wrong one.
set -u

connect=(--no-defaults --host="$WEIR_TEST_HOST" --port="$WEIR_TEST_PORT" --protocol=tcp
    --user="$WEIR_TEST_USER" --password="$WEIR_TEST_PASSWORD" --batch --skip-column-names)
if [ "$CLIENT_KIND" = mysql ]; then
    # Without it MySQL 9 knows none of its own commands but delimiter.
    connect+=(--commands)
    encrypted=(--ssl-mode=REQUIRED) plain=(--ssl-mode=DISABLED --get-server-public-key)
else
    encrypted=(--ssl) plain=(--skip-ssl)
fi
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# run OPTION… (statements on standard input): what the shell prints, its messages included.
run() {
    "$CLIENT" "${connect[@]}" "$@" "$WEIR_TEST_DATABASE" 2>&1 | grep -v 'Using a password on the command line'
}

# check WHAT EXPECTED OPTION… (statements on standard input)
check() {
    local what=$1 expected=$2 got
    shift 2
    got=$(run "$@")
    if [ "$got" != "$expected" ]; then
        printf '%s shell: %s: expected\n%s\ngot\n%s\n' "$CLIENT_KIND" "$what" "$expected" "$got"
        exit 1
    fi
}

check 'a query without TLS' '2' "${plain[@]}" <<<'SELECT 1 + 1'
# check_error WHAT EXPECTED OPTION… (statements on standard input): the last line. The mariadb shell prints the
# statement before the error, the mysql shell does not.
check_error() {
    local what=$1 expected=$2 got
    shift 2
    got=$(run "$@" | tail -1)
    if [ "$got" != "$expected" ]; then
        printf '%s shell: %s: expected\n%s\ngot\n%s\n' "$CLIENT_KIND" "$what" "$expected" "$got"
        exit 1
    fi
}

if [ "$WEIR_TEST_TLS" = 1 ]; then
    check 'a query over TLS' '3' "${encrypted[@]}" <<<'SELECT 1 + 2'
    status=$("$CLIENT" "${connect[@]}" "${encrypted[@]}" --execute='\s' 2>&1)
    case $status in
    *'Cipher in use is'*) ;;
    *) echo "$CLIENT_KIND shell: TLS is not in use: $status" && exit 1 ;;
    esac
fi

if [ "$CLIENT_KIND" = mysql ]; then
    for algorithm in zlib zstd; do
        if [ $algorithm = zstd ] && [ "$WEIR_TEST_ZSTD" != 1 ]; then continue; fi
        check "a large answer with $algorithm" "$(printf '3000000\n8')" "${plain[@]}" --compression-algorithms=$algorithm <<<"
            SET @big = REPEAT('compress me ', 250000); SELECT LENGTH(@big); SELECT LENGTH(REPEAT(@big, 1)) DIV 375000;"
        long=$(head -c 2000000 /dev/zero | tr '\0' y)
        check "a large statement with $algorithm" '2000000' "${plain[@]}" --compression-algorithms=$algorithm --max-allowed-packet=32M <<<"SELECT LENGTH('$long')"
    done
else
    check 'a large answer, compressed' '3000000' "${plain[@]}" --compress <<<"SELECT LENGTH(REPEAT('compress me ', 250000))"
fi

check 'a procedure with its own delimiter' $'first\n6\nsecond\n9' "${plain[@]}" <<'SQL'
DROP PROCEDURE IF EXISTS shell_proc;
DELIMITER //
CREATE PROCEDURE shell_proc(IN a INT, OUT b INT)
BEGIN
    SELECT 'first';
    SELECT a * 2;
    SELECT 'second';
    SET b = a * 3;
END//
DELIMITER ;
CALL shell_proc(3, @out);
SELECT @out;
SQL

cat >"$scratch/sourced.sql" <<'SQL'
DROP TABLE IF EXISTS shell_items;
CREATE TABLE shell_items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20));
INSERT INTO shell_items (name) VALUES ('a'), ('b'), (NULL);
SELECT LAST_INSERT_ID();
SQL
check 'a sourced file' $'1\n3' "${plain[@]}" <<SQL
source $scratch/sourced.sql
SELECT COUNT(*) FROM shell_items;
SQL

check 'a transaction' $'0\n3' "${plain[@]}" <<'SQL'
BEGIN; DELETE FROM shell_items; SELECT COUNT(*) FROM shell_items; ROLLBACK; SELECT COUNT(*) FROM shell_items;
SQL
check 'warnings' $'7\nWarning (Code 1292): Truncated incorrect INTEGER value: \'7x\'' "${plain[@]}" --show-warnings <<<"SELECT CAST('7x' AS SIGNED)"
check_error 'an error, with its position' "ERROR 1146 (42S02) at line 2: Table '$WEIR_TEST_DATABASE.nowhere' doesn't exist" "${plain[@]}" <<<$'DO 1;\nSELECT * FROM nowhere;'
check_error 'errors passed over' '5' "${plain[@]}" --force <<<'DROP TABLE nowhere; SELECT 5'
check 'use' "$WEIR_TEST_DATABASE" "${plain[@]}" <<<"use $WEIR_TEST_DATABASE
SELECT DATABASE();"

printf 'x\ny\n' >"$scratch/lines"
check 'a loaded file' '2' "${plain[@]}" --local-infile=1 <<SQL
LOAD DATA LOCAL INFILE '$scratch/lines' INTO TABLE shell_items (name);
SELECT COUNT(*) FROM shell_items WHERE name IN ('x', 'y');
SQL
if [ "$CLIENT_KIND" = mysql ]; then compressed=(--compression-algorithms=zlib); else compressed=(--compress); fi
check 'a loaded file, compressed' '4' "${plain[@]}" "${compressed[@]}" --local-infile=1 <<SQL
LOAD DATA LOCAL INFILE '$scratch/lines' INTO TABLE shell_items (name);
SELECT COUNT(*) FROM shell_items WHERE name IN ('x', 'y');
SQL
check 'by unix socket' 'here' "${plain[@]}" --host=localhost --protocol=socket --socket="$WEIR_TEST_SOCKET" <<<"SELECT 'here'"
refused=$("$CLIENT" "${connect[@]}" "${plain[@]}" --password=wrong --execute='SELECT 1' 2>&1)
case $refused in
*'ERROR 1045 (28000)'*) ;;
*) echo "$CLIENT_KIND shell: a wrong password: $refused" && exit 1 ;;
esac
