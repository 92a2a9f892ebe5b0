#!/bin/bash
# sysbench, unmodified: the tables are made, used by several threads with and without prepared statements, and removed.
set -u

base=(--db-driver=mysql --mysql-host="$WEIR_TEST_HOST" --mysql-port="$WEIR_TEST_PORT" --mysql-user="$WEIR_TEST_USER"
    --mysql-password="$WEIR_TEST_PASSWORD" --mysql-db="$WEIR_TEST_DATABASE" --tables=2 --table-size=500 --threads=6
    --time=0 --events=300 --rand-seed=7)

# MariaDB's C library loads the plugin of an account's method when a connection first needs it, and when several threads do so at once, some
# fail before they have sent anything. Named here, it is loaded once, before there are threads.
export LIBMYSQL_PLUGINS=caching_sha2_password

run() {
    printed=$(sysbench "${base[@]}" "$@" 2>&1) && return
    printf 'sysbench %s failed:\n%s\n' "$*" "$printed"
    exit 1
}

run oltp_read_write cleanup
# One thread: a thread that can't connect leaves its tables out, and sysbench says nothing of it in its exit status.
run oltp_read_write --threads=1 prepare
for prepared in disable auto; do
    for script in oltp_point_select oltp_read_write; do
        run "$script" --db-ps-mode=$prepared run
        case $printed in
        *'ignored errors:                      0'*) ;;
        *) # Deadlocks are the server's own affair and are counted; nothing else may be.
            case $printed in
            *'reconnects:                          0'*) ;;
            *) printf 'sysbench %s reconnected:\n%s\n' "$script" "$printed" && exit 1 ;;
            esac ;;
        esac
        case $printed in
        *'total number of events:              3'*) ;;
        *) printf 'sysbench %s ran too few events:\n%s\n' "$script" "$printed" && exit 1 ;;
        esac
    done
done
run oltp_read_write cleanup
