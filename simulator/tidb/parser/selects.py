"""One SELECT, TABLE or VALUES from a cursor, as text.

One law: its parts stand in TiDB's order, whatever the order of the options in the text (pkg/parser/ast/dml.go,
SelectStmt.Restore).
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.hints import read_hints
from simulator.tidb.parser.sources import read_source_list, read_table_name
from simulator.tidb.parser.windows import read_items, read_order, read_window_definition
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.restoring import quoted, string

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


def read_select(parser: TiDBParser) -> Select:
    """SELECT, TABLE or VALUES with its ORDER BY, LIMIT and locks; raises SchemaError."""
    if parser.accept("SELECT"):
        text = f"SELECT {_options(parser)}{_fields(parser)}{_body(parser)}"
    elif parser.accept("TABLE"):
        text = f"TABLE {read_table_name(parser)}"
    elif parser.accept("VALUES"):
        text = f"VALUES {_rows(parser)}"
    else:
        parser.unexpected("SELECT, TABLE, VALUES or WITH")
    order = read_order(parser) if parser.word() == "ORDER BY" else ""
    limit = read_limit(parser)
    return Select(text, order, limit, " ".join(part for part in (_lock(parser), _into(parser)) if part))


def read_limit(parser: TiDBParser) -> str:
    """`LIMIT [offset,]count`, or nothing."""
    if parser.accept("FETCH"):
        _one_of(parser, "FIRST", "NEXT")
        count = 1 if parser.word() in ("ROW", "ROWS") else parser.integer()
        _one_of(parser, "ROW", "ROWS")
        parser.expect("ONLY")
        return f"LIMIT {count}"
    if not parser.accept("LIMIT"):
        return ""
    first = parser.integer()
    if parser.accept(","):
        return f"LIMIT {first},{parser.integer()}"
    return f"LIMIT {parser.integer()},{first}" if parser.accept("OFFSET") else f"LIMIT {first}"


def _one_of(parser: TiDBParser, *words: str) -> None:
    if parser.word() not in words:
        parser.unexpected(" or ".join(words))
    parser.take()


def _options(parser: TiDBParser) -> str:
    """What stands before the fields, in TiDB's order; of several hints the first counts."""
    found: dict[str, str] = {}
    while True:
        word = parser.word()
        if word.startswith("/*+"):
            found.setdefault("hints", read_hints(parser))
        elif word in PRIORITIES:
            found["priority"] = parser.take()
        elif word in ("ALL", "DISTINCT", "DISTINCTROW"):
            found["ALL" if parser.take() == "ALL" else "DISTINCT"] = ""
            if "ALL" in found and "DISTINCT" in found:
                parser.fail("ALL and DISTINCT exclude each other")
        elif word in FLAGS or word in ("SQL_CACHE", "STRAIGHT_JOIN"):
            found[parser.take()] = ""
        else:
            break
    hints = f"/*+ {found['hints']}*/" if found.get("hints") else ""
    words = (found.get("priority", ""), *(flag for flag in FLAGS if flag in found), hints,
             *(word for word in ("DISTINCT", "ALL", "STRAIGHT_JOIN") if word in found))
    return "".join(f"{word} " for word in words if word)


def _fields(parser: TiDBParser) -> str:
    fields = [_field(parser)]
    while parser.accept(","):
        fields.append(_field(parser))
    return ",".join(fields)


def _field(parser: TiDBParser) -> str:
    """`*`, `t.*`, or an expression with its alias."""
    if parser.accept("*"):
        return "*"
    names = next((count for count in (1, 2) if parser.word_ahead(2 * count) == "*" and _dots(parser, count)), 0)
    if names and parser.is_name():
        parts = [quoted(parser.name())]
        while parser.accept("."):
            parts.append("*" if parser.accept("*") else quoted(parser.name()))
        return ".".join(parts)
    return restored(parser.rules.node(parser)) + read_alias(parser)


def _dots(parser: TiDBParser, count: int) -> bool:
    return all(parser.word_ahead(2 * place + 1) == "." for place in range(count))


def read_alias(parser: TiDBParser) -> str:
    """` AS name`, with or without its AS; nothing where there is none or it is empty."""
    if parser.accept("AS") or parser.kind() == "string":
        alias = parser.string() if parser.kind() == "string" else parser.free_name("an alias")
        return f" AS {quoted(alias)}" if alias else ""
    return f" AS {quoted(parser.name())}" if parser.is_free_name() else ""


def _body(parser: TiDBParser) -> str:
    """FROM and what follows, up to the windows."""
    having = _having(parser)
    table = ""
    if not having and parser.accept("FROM"):
        table = "DUAL" if parser.accept("DUAL") else read_source_list(parser)
    where = f" WHERE {restored(parser.rules.node(parser))}" if parser.accept("WHERE") else ""
    group = ""
    if parser.accept("GROUP BY"):
        group = f" GROUP BY {read_items(parser)}{' WITH ROLLUP' if parser.accept('WITH ROLLUP') else ''}"
    windows = ""
    if table not in ("", "DUAL"):
        having = _having(parser)
        windows = _windows(parser)
    source = f" FROM {table}" if table not in ("", "DUAL") else " FROM DUAL" if where else ""
    return source + where + group + having + windows


def _having(parser: TiDBParser) -> str:
    return f" HAVING {restored(parser.rules.node(parser))}" if parser.accept("HAVING") else ""


def _windows(parser: TiDBParser) -> str:
    if not parser.accept("WINDOW"):
        return ""
    windows = [_window(parser)]
    while parser.accept(","):
        windows.append(_window(parser))
    return f" WINDOW {','.join(windows)}"


def _window(parser: TiDBParser) -> str:
    name = quoted(parser.name("the name of a window"))
    parser.expect("AS")
    return f"{name} AS {read_window_definition(parser)}"


def _rows(parser: TiDBParser) -> str:
    rows = [_row(parser)]
    while parser.accept(","):
        rows.append(_row(parser))
    return ", ".join(rows)


def _row(parser: TiDBParser) -> str:
    parser.expect("ROW")
    if parser.accept("( )"):
        return "ROW()"
    return f"ROW({','.join(parser.comma_separated(_value))})"


def _value(parser: TiDBParser) -> str:
    if parser.word() == "DEFAULT" and parser.word_after() != "(":
        return parser.take()
    return restored(parser.rules.node(parser))


def _lock(parser: TiDBParser) -> str:
    """`FOR UPDATE [OF …] [NOWAIT]`; LOCK IN SHARE MODE is FOR SHARE."""
    if parser.accept("LOCK IN SHARE MODE"):
        return "FOR SHARE"
    if not parser.accept("FOR"):
        return ""
    if parser.word() not in ("UPDATE", "SHARE"):
        parser.unexpected("UPDATE or SHARE")
    lock = f"FOR {parser.take()}"
    if parser.accept("OF"):
        tables = [read_table_name(parser)]
        while parser.accept(","):
            tables.append(read_table_name(parser))
        lock += f" OF {', '.join(tables)}"
    if lock.startswith("FOR UPDATE") and parser.accept("WAIT"):
        return f"{lock} WAIT {parser.integer()}"
    return lock + next((f" {way}" for way in ("NOWAIT", "SKIP LOCKED") if parser.accept(way)), "")


def _into(parser: TiDBParser) -> str:
    if not parser.accept("INTO OUTFILE"):
        return ""
    return f"INTO OUTFILE {string(parser.string())}"
