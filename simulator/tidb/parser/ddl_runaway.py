"""Reads QUERY_LIMIT and BACKGROUND of a resource group.

One law: values come out as TiDB writes them back (TiDB: pkg/parser/ast/ddl.go, ResourceGroupRunawayOption).
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import one_of
from simulator.tidb.restore.restoring import quoted, string

LIMITS = ("EXEC_ELAPSED", "PROCESSED_KEYS", "RU", "ACTION", "WATCH")
ACTIONS = ("DRYRUN", "COOLDOWN", "KILL", "SWITCH_GROUP")
TASKS = ("TASK_TYPES", "UTILIZATION_LIMIT")


def query_limit(parser: TiDBParser) -> str:
    return group(parser, limit, " ")


def background(parser: TiDBParser) -> str:
    return group(parser, task, ", ")


def group(parser: TiDBParser, item: Callable[[TiDBParser], str], separator: str) -> str:
    """`= ( item … )`, the items with or without commas; NULL where there is none."""
    parser.accept("=")
    if parser.accept("NULL"):
        return "NULL"
    parser.expect("(")
    items: list[str] = []
    while not parser.accept(")"):
        if items:
            parser.accept(",")
        items.append(item(parser))
    return f"({separator.join(items)})" if items else "NULL"


def limit(parser: TiDBParser) -> str:
    word = one_of(parser, LIMITS)
    if word == "ACTION":
        return f"ACTION = {action(parser)}"
    if word == "WATCH":
        return f"WATCH = {one_of(parser, ('EXACT', 'SIMILAR', 'PLAN'))} DURATION = {duration(parser)}"
    parser.accept("=")
    return f"{word} = {string(parser.string()) if word == 'EXEC_ELAPSED' else parser.integer()}"


def action(parser: TiDBParser) -> str:
    word = one_of(parser, ACTIONS)
    if word != "SWITCH_GROUP":
        return word
    return f"SWITCH_GROUP({quoted(parser.comma_separated(lambda cursor: cursor.free_name('a resource group'))[0])})"


def duration(parser: TiDBParser) -> str:
    if not parser.accept("DURATION"):
        return "UNLIMITED"
    parser.accept("=")
    if parser.accept("UNLIMITED"):
        return "UNLIMITED"
    said = parser.string("a duration between quotes").lower()
    return "UNLIMITED" if said in ("", "unlimited") else string(said)


def task(parser: TiDBParser) -> str:
    word = one_of(parser, TASKS)
    parser.accept("=")
    return f"{word} = {string(parser.string()) if word == 'TASK_TYPES' else parser.integer()}"
