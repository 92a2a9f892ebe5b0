"""What the Python programs share: what they are told by the environment, how they check, and the columns of types.json."""

import json
import os
import pathlib
import ssl
import sys

HOST = os.environ["WEIR_TEST_HOST"]
PORT = int(os.environ["WEIR_TEST_PORT"])
SOCKET = os.environ["WEIR_TEST_SOCKET"]
USER = os.environ["WEIR_TEST_USER"]
PASSWORD = os.environ["WEIR_TEST_PASSWORD"]
DATABASE = os.environ["WEIR_TEST_DATABASE"]
FLAVOR = os.environ["WEIR_TEST_FLAVOR"]
TLS = os.environ["WEIR_TEST_TLS"] == "1"
SCRATCH = pathlib.Path(os.environ["WEIR_TEST_SCRATCH"])


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {message}")


def shortened(value):
    text = repr(value)
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text)} characters)"


def check(what, got, expected):
    if got != expected:
        fail(f"{what}: {shortened(expected)} expected, got {shortened(got)}")


def context_that_trusts_all():
    """For TLS with a self-signed certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Column:
    """A column of types.json."""

    def __init__(self, entry):
        self.name, self.type, self.literal = entry["name"], entry["type"], entry["literal"]
        if "expected_hex" in entry:
            self.expected = bytes.fromhex(entry["expected_hex"])
        else:
            self.expected = entry.get(FLAVOR, entry.get("expected"))


def columns():
    """The columns that this kind of server has."""
    table = json.loads((pathlib.Path(__file__).parent.parent / "types.json").read_text(encoding="utf-8"))
    return [Column(entry) for entry in table["columns"] if entry.get("only", FLAVOR) == FLAVOR]


def types_statements(table, without=()):
    """Make a table of all columns, with a row of values (id 1) and a row of NULL (id 2)."""
    own = [column for column in columns() if column.name not in without]
    definitions = ", ".join(f"`{column.name}` {column.type}" for column in own)
    literals = ", ".join(column.literal for column in own)
    return [
        "SET time_zone = '+00:00'",
        f"DROP TABLE IF EXISTS {table}",
        f"CREATE TABLE {table} (id INT PRIMARY KEY, {definitions})",
        f"INSERT INTO {table} VALUES (1, {literals})",
        f"INSERT INTO {table} VALUES (2{', NULL' * len(own)})",
    ]
