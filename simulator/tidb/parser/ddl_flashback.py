"""Reads RECOVER TABLE and FLASHBACK TABLE, DATABASE, CLUSTER.

One law: behind TO, the words TIMESTAMP and TSO are a moment, which at the end, as any other, are a new name.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.syntax.statements import FlashbackCluster, FlashbackDatabase, FlashbackTable, RecoverTable

Flashback = FlashbackTable | FlashbackDatabase | FlashbackCluster


def recover_table(parser: TiDBParser) -> RecoverTable:
    """What follows RECOVER TABLE: BY JOB n, or a table and which of its drops."""
    if parser.accept("BY"):
        parser.expect("JOB")
        return RecoverTable(None, job=parser.integer("the number of a job"))
    table = table_name(parser)
    return RecoverTable(table, number=0 if parser.at_end() else parser.integer())


def flashback(parser: TiDBParser) -> Flashback:
    """What follows FLASHBACK."""
    if parser.accept("CLUSTER"):
        timestamp, tso = moment(parser)
        return FlashbackCluster(timestamp, tso)
    if parser.accept("TABLE"):
        return flashback_table(parser)
    if parser.accept("DATABASE") or parser.accept("SCHEMA"):
        return flashback_database(parser)
    parser.unexpected("TABLE, DATABASE or CLUSTER", ("TABLE", "DATABASE", "SCHEMA", "CLUSTER"))


def flashback_table(parser: TiDBParser) -> FlashbackTable | FlashbackCluster:
    tables = comma_list(parser, table_name)
    if len(tables) > 1 or goes_to_moment(parser):
        timestamp, tso = moment(parser)
        return FlashbackCluster(timestamp, tso, tables)
    return FlashbackTable(tables[0], new_name(parser))


def flashback_database(parser: TiDBParser) -> FlashbackDatabase | FlashbackCluster:
    database = parser.free_name("the name of a database")
    if goes_to_moment(parser):
        timestamp, tso = moment(parser)
        return FlashbackCluster(timestamp, tso, database=database)
    return FlashbackDatabase(database, new_name(parser))


def goes_to_moment(parser: TiDBParser) -> bool:
    return parser.word() == "TO" and parser.word_after() in ("TIMESTAMP", "TSO") and not parser.is_last(1)


def new_name(parser: TiDBParser) -> str:
    return parser.free_name("a new name") if parser.accept("TO") else ""


def moment(parser: TiDBParser) -> tuple[str, int]:
    """`TO TIMESTAMP '…'` or `TO TSO n`: the text, and the number."""
    parser.expect("TO")
    if parser.accept("TIMESTAMP"):
        return parser.string("a timestamp between quotes"), 0
    parser.expect("TSO")
    token = parser.next_token()
    tso = parser.integer("a TSO")
    if tso == 0:
        parser.fail("a TSO of 0 is no moment", token)
    return "", tso
