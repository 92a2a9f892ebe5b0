#!/bin/sh
# The state of a Galera node for another one on this machine (wsrep_sst_method): a copy of its data directory. mariadbd runs it at both ends.
# Written by Weir at the first start of this server.
set -eu
role='' address='' data='' gtid='' domain=0 bypass='' parent=''
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --datadir) data=${2%/}; shift ;;
    --gtid) gtid=$2; shift ;;
    --gtid-domain-id) domain=$2; shift ;;
    --parent) parent=$2; shift ;;
    --bypass) bypass=1 ;;
  esac
  shift
done

# Runs a command with the files of a data directory but for those that are the node's own.
with_files_of() {
  from=$1
  shift
  find "$from" -mindepth 1 -maxdepth 1 ! -name 'galera.*' ! -name grastate.dat ! -name gvwstate.dat -exec "$@" {} +
}

case $role in
  joiner)
    received=$(dirname "$data")/received
    rm -rf "$received"
    mkdir "$received"
    echo "ready $received"
    until [ -e "$received/complete" ]; do
      kill -0 "$parent"
      sleep 0.05
    done
    if [ -d "$received/data" ]; then
      with_files_of "$data" rm -rf
      with_files_of "$received/data" mv -t "$data"
    fi
    state=$(cat "$received/complete")
    rm -rf "$received"
    echo "$state"
    ;;
  donor)
    state="$gtid $domain"
    if [ -z "$bypass" ]; then
      rm -f "$data/tables_flushed"
      echo 'flush tables'
      # The server writes its position there once nothing changes any more.
      until grep -qs : "$data/tables_flushed"; do
        [ ! -e "$data/sst_error" ] || exit 255
        sleep 0.05
      done
      state=$(cat "$data/tables_flushed")
      rm "$data/tables_flushed"
      mkdir "$address/data"
      with_files_of "$data" cp -a --sparse=always --reflink=auto -t "$address/data"
    fi
    echo continue
    echo "$state" > "$address/state"
    mv "$address/state" "$address/complete"
    echo "done $state"
    ;;
  *) exit 22 ;;
esac
