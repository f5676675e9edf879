"""Reads RECOVER TABLE and FLASHBACK TABLE, DATABASE, CLUSTER.

One law: behind TO, the words TIMESTAMP and TSO are a moment, which at the end, as any other, are a new name.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.syntax.statements import FlashbackCluster, FlashbackDatabase, FlashbackTable, RecoverTable

Flashback = FlashbackTable | FlashbackDatabase | FlashbackCluster


def recover_table(cursor: Cursor) -> RecoverTable:
    """What follows RECOVER TABLE: BY JOB n, or a table and which of its drops."""
    if cursor.accept("BY"):
        cursor.expect("JOB")
        return RecoverTable(None, job=cursor.integer("the number of a job"))
    table = table_name(cursor)
    return RecoverTable(table, number=0 if cursor.at_end() else cursor.integer())


def flashback(cursor: Cursor) -> Flashback:
    """What follows FLASHBACK."""
    if cursor.accept("CLUSTER"):
        timestamp, tso = moment(cursor)
        return FlashbackCluster(timestamp, tso)
    if cursor.accept("TABLE"):
        return flashback_table(cursor)
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        return flashback_database(cursor)
    cursor.unexpected("TABLE, DATABASE or CLUSTER", ("TABLE", "DATABASE", "SCHEMA", "CLUSTER"))


def flashback_table(cursor: Cursor) -> FlashbackTable | FlashbackCluster:
    tables = comma_list(cursor, table_name)
    if len(tables) > 1 or goes_to_moment(cursor):
        timestamp, tso = moment(cursor)
        return FlashbackCluster(timestamp, tso, tables)
    return FlashbackTable(tables[0], new_name(cursor))


def flashback_database(cursor: Cursor) -> FlashbackDatabase | FlashbackCluster:
    database = cursor.name("the name of a database")
    if goes_to_moment(cursor):
        timestamp, tso = moment(cursor)
        return FlashbackCluster(timestamp, tso, database=database)
    return FlashbackDatabase(database, new_name(cursor))


def goes_to_moment(cursor: Cursor) -> bool:
    return cursor.word() == "TO" and cursor.word_after() in ("TIMESTAMP", "TSO") and not cursor.is_last(1)


def new_name(cursor: Cursor) -> str:
    return cursor.name("a new name") if cursor.accept("TO") else ""


def moment(cursor: Cursor) -> tuple[str, int]:
    """`TO TIMESTAMP '…'` or `TO TSO n`: the text, and the number."""
    cursor.expect("TO")
    if cursor.accept("TIMESTAMP"):
        return cursor.string("a timestamp between quotes"), 0
    cursor.expect("TSO")
    token = cursor.next_token()
    tso = cursor.integer("a TSO")
    if tso == 0:
        cursor.fail("a TSO of 0 is no moment", token)
    return "", tso
