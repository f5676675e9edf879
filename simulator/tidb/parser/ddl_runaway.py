"""Reads QUERY_LIMIT and BACKGROUND of a resource group.

One law: values come out as TiDB writes them back (TiDB: pkg/parser/ast/ddl.go, ResourceGroupRunawayOption).
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import one_of
from simulator.tidb.restore.names import quoted, string

LIMITS = ("EXEC_ELAPSED", "PROCESSED_KEYS", "RU", "ACTION", "WATCH")
ACTIONS = ("DRYRUN", "COOLDOWN", "KILL", "SWITCH_GROUP")
TASKS = ("TASK_TYPES", "UTILIZATION_LIMIT")


def query_limit(cursor: Cursor) -> str:
    return group(cursor, limit, " ")


def background(cursor: Cursor) -> str:
    return group(cursor, task, ", ")


def group(cursor: Cursor, item: Callable[[Cursor], str], separator: str) -> str:
    """`= ( item … )`, the items with or without commas; NULL where there is none."""
    cursor.accept("=")
    if cursor.accept("NULL"):
        return "NULL"
    cursor.expect("(")
    items: list[str] = []
    while not cursor.accept(")"):
        if items:
            cursor.accept(",")
        items.append(item(cursor))
    return f"({separator.join(items)})" if items else "NULL"


def limit(cursor: Cursor) -> str:
    word = one_of(cursor, LIMITS)
    if word == "ACTION":
        return f"ACTION = {action(cursor)}"
    if word == "WATCH":
        return f"WATCH = {one_of(cursor, ('EXACT', 'SIMILAR', 'PLAN'))} DURATION = {duration(cursor)}"
    cursor.accept("=")
    return f"{word} = {string(cursor.string()) if word == 'EXEC_ELAPSED' else cursor.integer()}"


def action(cursor: Cursor) -> str:
    word = one_of(cursor, ACTIONS)
    if word != "SWITCH_GROUP":
        return word
    return f"SWITCH_GROUP({quoted(cursor.comma_separated(lambda cursor: cursor.name('a resource group'))[0])})"


def duration(cursor: Cursor) -> str:
    if not cursor.accept("DURATION"):
        return "UNLIMITED"
    cursor.accept("=")
    if cursor.accept("UNLIMITED"):
        return "UNLIMITED"
    said = cursor.string("a duration between quotes").lower()
    return "UNLIMITED" if said in ("", "unlimited") else string(said)


def task(cursor: Cursor) -> str:
    word = one_of(cursor, TASKS)
    cursor.accept("=")
    return f"{word} = {string(cursor.string()) if word == 'TASK_TYPES' else cursor.integer()}"
