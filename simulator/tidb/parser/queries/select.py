"""One SELECT, TABLE or VALUES from a cursor, as text.

One law: its parts stand in TiDB's order, whatever the order of the options in the text (pkg/parser/ast/dml.go,
SelectStmt.Restore).
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.aggregates import read_items, read_order, read_window_definition
from simulator.tidb.parser.queries.hints import read_hints
from simulator.tidb.parser.queries.sources import read_source_list, read_table_name
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.names import quoted, string

PRIORITIES = ("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED")
FLAGS = ("SQL_SMALL_RESULT", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS")


@dataclass(frozen=True)
class Select:
    text: str
    """Up to the window definitions."""

    order: str = ""
    limit: str = ""
    lock: str = ""
    common: str = ""
    """WITH …"""

    braced: bool = False

    @property
    def written(self) -> str:
        return " ".join(part for part in (self.text, self.order, self.limit, self.lock) if part)


def read_select(cursor: Cursor) -> Select:
    """SELECT, TABLE or VALUES with its ORDER BY, LIMIT and locks; raises SchemaError."""
    if cursor.accept("SELECT"):
        text = f"SELECT {_options(cursor)}{','.join(cursor.listed(_field))}{_body(cursor)}"
    elif cursor.accept("TABLE"):
        text = f"TABLE {read_table_name(cursor)}"
    elif cursor.accept("VALUES"):
        text = f"VALUES {', '.join(cursor.listed(_row))}"
    else:
        cursor.unexpected("SELECT, TABLE, VALUES or WITH")
    order = read_order(cursor) if cursor.word() == "ORDER BY" else ""
    limit = read_limit(cursor)
    return Select(text, order, limit, " ".join(part for part in (_lock(cursor), _into(cursor)) if part))


def read_limit(cursor: Cursor) -> str:
    """`LIMIT [offset,]count`, or nothing."""
    if cursor.accept("FETCH"):
        _one_of(cursor, "FIRST", "NEXT")
        count = 1 if cursor.word() in ("ROW", "ROWS") else cursor.integer()
        _one_of(cursor, "ROW", "ROWS")
        cursor.expect("ONLY")
        return f"LIMIT {count}"
    if not cursor.accept("LIMIT"):
        return ""
    first = cursor.integer()
    if cursor.accept(","):
        return f"LIMIT {first},{cursor.integer()}"
    return f"LIMIT {cursor.integer()},{first}" if cursor.accept("OFFSET") else f"LIMIT {first}"


def _one_of(cursor: Cursor, *words: str) -> None:
    if cursor.word() not in words:
        cursor.unexpected(" or ".join(words))
    cursor.take()


def _options(cursor: Cursor) -> str:
    """What stands before the fields, in TiDB's order; of several hints the first counts."""
    found: dict[str, str] = {}
    while True:
        word = cursor.word()
        if word.startswith("/*+"):
            found.setdefault("hints", read_hints(cursor))
        elif word in PRIORITIES:
            found["priority"] = cursor.take()
        elif word in ("ALL", "DISTINCT", "DISTINCTROW"):
            found["ALL" if cursor.take() == "ALL" else "DISTINCT"] = ""
            if "ALL" in found and "DISTINCT" in found:
                cursor.fail("ALL and DISTINCT exclude each other")
        elif word in FLAGS or word in ("SQL_CACHE", "STRAIGHT_JOIN"):
            found[cursor.take()] = ""
        else:
            break
    hints = f"/*+ {found['hints']}*/" if found.get("hints") else ""
    words = (found.get("priority", ""), *(flag for flag in FLAGS if flag in found), hints,
             *(word for word in ("DISTINCT", "ALL", "STRAIGHT_JOIN") if word in found))
    return "".join(f"{word} " for word in words if word)


def _field(cursor: Cursor) -> str:
    """`*`, `t.*`, or an expression with its alias."""
    if cursor.accept("*"):
        return "*"
    names = next((count for count in (1, 2) if cursor.word_ahead(2 * count) == "*" and _dots(cursor, count)), 0)
    if names and cursor.is_name():
        parts = [quoted(cursor.name())]
        while cursor.accept("."):
            parts.append("*" if cursor.accept("*") else quoted(cursor.name()))
        return ".".join(parts)
    return restored(cursor.rules.node(cursor)) + read_alias(cursor)


def _dots(cursor: Cursor, count: int) -> bool:
    return all(cursor.word_ahead(2 * place + 1) == "." for place in range(count))


def read_alias(cursor: Cursor) -> str:
    """` AS name`, with or without its AS; nothing where there is none or it is empty."""
    if cursor.accept("AS") or cursor.kind() == "string":
        alias = cursor.string() if cursor.kind() == "string" else cursor.name("an alias")
        return f" AS {quoted(alias)}" if alias else ""
    return f" AS {quoted(cursor.name())}" if cursor.is_free_name() else ""


def _body(cursor: Cursor) -> str:
    """FROM and what follows, up to the windows."""
    having = _having(cursor)
    table = ""
    if not having and cursor.accept("FROM"):
        table = "DUAL" if cursor.accept("DUAL") else read_source_list(cursor)
    where = f" WHERE {restored(cursor.rules.node(cursor))}" if cursor.accept("WHERE") else ""
    group = ""
    if cursor.accept("GROUP BY"):
        group = f" GROUP BY {read_items(cursor)}{' WITH ROLLUP' if cursor.accept('WITH ROLLUP') else ''}"
    windows = ""
    if table not in ("", "DUAL"):
        having = _having(cursor)
        windows = _windows(cursor)
    source = f" FROM {table}" if table not in ("", "DUAL") else " FROM DUAL" if where else ""
    return source + where + group + having + windows


def _having(cursor: Cursor) -> str:
    return f" HAVING {restored(cursor.rules.node(cursor))}" if cursor.accept("HAVING") else ""


def _windows(cursor: Cursor) -> str:
    if not cursor.accept("WINDOW"):
        return ""
    return f" WINDOW {','.join(cursor.listed(_window))}"


def _window(cursor: Cursor) -> str:
    name = quoted(cursor.name("the name of a window"))
    cursor.expect("AS")
    return f"{name} AS {read_window_definition(cursor)}"


def _row(cursor: Cursor) -> str:
    cursor.expect("ROW")
    if cursor.accept("( )"):
        return "ROW()"
    return f"ROW({','.join(cursor.comma_separated(_value))})"


def _value(cursor: Cursor) -> str:
    if cursor.word() == "DEFAULT" and cursor.word_after() != "(":
        return cursor.take()
    return restored(cursor.rules.node(cursor))


def _lock(cursor: Cursor) -> str:
    """`FOR UPDATE [OF …] [NOWAIT]`; LOCK IN SHARE MODE is FOR SHARE."""
    if cursor.accept("LOCK IN SHARE MODE"):
        return "FOR SHARE"
    if not cursor.accept("FOR"):
        return ""
    if cursor.word() not in ("UPDATE", "SHARE"):
        cursor.unexpected("UPDATE or SHARE")
    lock = f"FOR {cursor.take()}"
    if cursor.accept("OF"):
        lock += f" OF {', '.join(cursor.listed(read_table_name))}"
    if lock.startswith("FOR UPDATE") and cursor.accept("WAIT"):
        return f"{lock} WAIT {cursor.integer()}"
    return lock + next((f" {way}" for way in ("NOWAIT", "SKIP LOCKED") if cursor.accept(way)), "")


def _into(cursor: Cursor) -> str:
    if not cursor.accept("INTO OUTFILE"):
        return ""
    return f"INTO OUTFILE {string(cursor.string())}"
