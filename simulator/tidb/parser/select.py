"""Parse one SELECT, TABLE or VALUES into text and tree.

TiDB restores the options in its own order (pkg/parser/ast/dml.go, SelectStmt.Restore). The columns of a view have the
names of its query: aliases, names of columns, what `*` stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.errors import sql_error
from simulator.tidb.parser.aggregates import (
    parse_items,
    parse_order,
    parse_window_definition,
    restore_items,
    restore_order,
)
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.sources import parse_hints, parse_source_list, parse_table_name, restore_sources, source_tree
from simulator.tidb.restore import quote_name, quote_string, restore_list, restore_node, restore_table_name
from simulator.tidb.syntax.queries import (
    DerivedTable,
    Join,
    QueryTree,
    SelectItem,
    SelectTree,
    SetOperation,
    Source,
    Star,
    TableSource,
    WithTree,
)

PRIORITIES = ("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED")
FLAGS = ("SQL_SMALL_RESULT", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS")

MOST_ROWS = 1 << 62


@dataclass(frozen=True)
class ParsedSelect:
    text: str
    """Up to the window definitions."""

    body: syntax.SelectTree | syntax.ValuesTree
    """Without ORDER BY and LIMIT."""

    order: tuple[syntax.OrderItem, ...] = ()
    limit: ParsedLimit | None = None
    lock: str = ""
    common: ParsedWith | None = None
    braced: bool = False

    @property
    def written(self) -> str:
        limit = self.limit.text if self.limit else ""
        return " ".join(part for part in (self.text, restore_order(self.order), limit, self.lock) if part)

    @property
    def tree(self) -> syntax.SelectTree | syntax.ValuesTree:
        return replace(self.body, order=self.order, limit=self.limit.tree if self.limit else None)


@dataclass(frozen=True)
class ParsedLimit:
    text: str
    """`LIMIT [offset,]count`"""

    tree: syntax.Limit


@dataclass(frozen=True)
class ParsedWith:
    """The tables of a WITH."""

    text: str
    """`WITH …` and a blank."""

    tables: tuple[syntax.CommonTable, ...]
    recursive: bool


def parse_select(cursor: Cursor) -> ParsedSelect:
    """Parse SELECT, TABLE or VALUES with its ORDER BY, LIMIT and locks; raises SchemaError."""
    body: syntax.SelectTree | syntax.ValuesTree
    if cursor.accept("SELECT"):
        options = _parse_select_options(cursor)
        distinct = "DISTINCT" in options.rpartition("*/")[2]
        fields = cursor.comma_list(_parse_select_item)
        counts = "SQL_CALC_FOUND_ROWS" in options.rpartition("*/")[2]
        items = tuple(item for _, item in fields)
        clauses, body = _parse_clauses(cursor, syntax.SelectTree(items, distinct=distinct, counts_rows=counts))
        text = f"SELECT {options}{','.join(text for text, _ in fields)}{clauses}"
    elif cursor.accept("TABLE"):
        name = cursor.qualified_name("a table")
        text, body = f"TABLE {restore_table_name(name)}", syntax.SelectTree((syntax.Star(),), syntax.TableSource(name))
    elif cursor.accept("VALUES"):
        rows = cursor.comma_list(_parse_row)
        written_rows = (f"ROW({restore_list(row, ',')})" for row in rows)
        text, body = f"VALUES {', '.join(written_rows)}", syntax.ValuesTree(rows)
    else:
        cursor.unexpected("SELECT, TABLE, VALUES or WITH")
    order = parse_order(cursor)
    limit = parse_limit(cursor)
    lock, into = _parse_lock(cursor), _parse_into_outfile(cursor)
    if lock and isinstance(body, syntax.SelectTree):
        body = replace(body, lock=lock)
    if into and isinstance(body, syntax.SelectTree):
        body = replace(body, unsupported=(*body.unsupported, "INTO OUTFILE"))
    return ParsedSelect(text, body, order, limit, " ".join(part for part in (lock, into) if part))


def parse_limit(cursor: Cursor) -> ParsedLimit | None:
    """Parse an optional `LIMIT [offset,] count`, or `FETCH`."""
    if cursor.accept("FETCH"):
        cursor.one_of("FIRST", "NEXT")
        count = 1 if cursor.word() in ("ROW", "ROWS") else cursor.integer()
        cursor.one_of("ROW", "ROWS")
        cursor.expect("ONLY")
        return ParsedLimit(f"LIMIT {count}", _limit(count))
    if not cursor.accept("LIMIT"):
        return None
    count = _parse_limit_number(cursor)
    if cursor.word() not in (",", "OFFSET"):
        return ParsedLimit(f"LIMIT {count}", _limit(count))
    offset_first = cursor.take() == ","
    offset, count = (count, _parse_limit_number(cursor)) if offset_first else (_parse_limit_number(cursor), count)
    return ParsedLimit(f"LIMIT {offset},{count}", _limit(count, offset))


def _limit(count: int, offset: int = 0) -> syntax.Limit:
    """Return a limit whose sum has 64 bits: no table has as many rows, and clients write 2^64-1 for none."""
    return syntax.Limit(min(count, MOST_ROWS), min(offset, MOST_ROWS))


def _parse_limit_number(cursor: Cursor) -> int:
    """Parse a number of LIMIT; raises SqlError 1210 for a `?` with another value."""
    if cursor.word() != "?":
        return cursor.count()
    parameter = cursor.parameter()
    if not isinstance(parameter, syntax.Literal) or parameter.kind != "integer":
        raise sql_error(1210, "LIMIT")
    return int(parameter.text)


def _parse_select_options(cursor: Cursor) -> str:
    """Parse the options before the fields, and return them in TiDB's order. The first of several hints counts."""
    options: dict[str, str] = {}
    while True:
        word = cursor.word()
        if word.startswith("/*+"):
            options.setdefault("hints", parse_hints(cursor))
        elif word in PRIORITIES:
            options["priority"] = cursor.take()
        elif word in ("ALL", "DISTINCT", "DISTINCTROW"):
            options["ALL" if cursor.take() == "ALL" else "DISTINCT"] = ""
            if "ALL" in options and "DISTINCT" in options:
                cursor.fail("ALL and DISTINCT exclude each other")
        elif word in FLAGS or word in ("SQL_CACHE", "STRAIGHT_JOIN"):
            options[cursor.take()] = ""
        else:
            break
    hints = f"/*+ {options['hints']}*/" if options.get("hints") else ""
    words = (
        options.get("priority", ""),
        *(flag for flag in FLAGS if flag in options),
        hints,
        *(word for word in ("DISTINCT", "ALL", "STRAIGHT_JOIN") if word in options),
    )
    return "".join(f"{word} " for word in words if word)


def _parse_select_item(cursor: Cursor) -> tuple[str, syntax.SelectItem | syntax.Star]:
    """Parse `*`, `t.*`, or an expression with its alias, and return the text and the tree."""
    if cursor.accept("*"):
        return "*", syntax.Star()
    names = next((count for count in (1, 2) if cursor.word_ahead(2 * count) == "*" and _has_dots(cursor, count)), 0)
    if names and cursor.is_name():
        first = cursor.name()
        cursor.expect(".")
        name = syntax.TableName(first, cursor.name()) if names > 1 else syntax.TableName("", first)
        cursor.expect(". *" if names > 1 else "*")
        return f"{restore_table_name(name)}.*", syntax.Star(name)
    start = cursor.next_token()
    node = cursor.grammar.expression(cursor)
    text = cursor.text_since(start)
    alias = parse_alias(cursor)
    return restore_node(node) + (f" AS {quote_name(alias)}" if alias else ""), syntax.SelectItem(
        node, alias or _column_name(node, text), not alias and not isinstance(node, syntax.ColumnName)
    )


def _column_name(node: syntax.Node, text: str) -> str:
    """Return TiDB's name for a column without an alias.

    Source: tidb pkg/planner/core/logical_plan_builder.go, buildProjectionFieldNameFromExpressions.
    """
    while isinstance(node, syntax.Parenthesised) or isinstance(node, syntax.Unary) and node.operator == "+":
        node = node.inner if isinstance(node, syntax.Parenthesised) else node.operand
    if isinstance(node, syntax.ColumnName):
        return node.parts[-1]
    if isinstance(node, syntax.Literal) and node.kind == "string":
        return node.text.lstrip()
    if isinstance(node, syntax.Literal) and node.kind in ("boolean", "null"):
        return node.text.upper()
    if isinstance(node, syntax.Call) and node.name == "NAME_CONST" and isinstance(node.arguments[0], syntax.Literal):
        return node.arguments[0].text
    return text.strip("+() \t\n\r") if isinstance(node, syntax.Literal) else text


def _has_dots(cursor: Cursor, count: int) -> bool:
    return all(cursor.word_ahead(2 * place + 1) == "." for place in range(count))


def parse_alias(cursor: Cursor) -> str:
    """Parse the optional alias of a field, with or without AS."""
    if cursor.accept("AS") or cursor.kind() == "string":
        return cursor.string() if cursor.kind() == "string" else cursor.name("an alias")
    return cursor.name() if cursor.is_free_name() else ""


def _parse_clauses(cursor: Cursor, tree: syntax.SelectTree) -> tuple[str, syntax.SelectTree]:
    """Parse FROM and the clauses after it, up to WINDOW, and return the text and the completed tree."""
    having = _parse_condition(cursor, "HAVING")
    source = None
    if not having and cursor.accept("FROM") and not cursor.accept("DUAL"):
        source = parse_source_list(cursor)
    where = _parse_condition(cursor, "WHERE")
    group = parse_items(cursor) if cursor.accept("GROUP BY") else ()
    rollup = bool(group) and cursor.accept("WITH ROLLUP")
    windows_text, windows = "", tuple[tuple[str, syntax.WindowSpec], ...]()
    if source:
        having = _parse_condition(cursor, "HAVING")
        windows_text, windows = _parse_windows(cursor)
    text = f" FROM {restore_sources(source)}" if source else " FROM DUAL" * bool(where)
    text += f" WHERE {restore_node(where)}" if where else ""
    text += f" GROUP BY {restore_items(group)}{' WITH ROLLUP' * rollup}" if group else ""
    text += f" HAVING {restore_node(having)}" if having else ""
    return text + windows_text, replace(
        tree,
        source=source_tree(source) if source else None,
        where=where,
        group_by=group,
        having=having,
        windows=windows,
        rollup=rollup,
    )


def _parse_condition(cursor: Cursor, word: str) -> syntax.Node | None:
    return cursor.grammar.expression(cursor) if cursor.accept(word) else None


def _parse_windows(cursor: Cursor) -> tuple[str, tuple[tuple[str, syntax.WindowSpec], ...]]:
    if not cursor.accept("WINDOW"):
        return "", ()
    windows = cursor.comma_list(_parse_window)
    return f" WINDOW {','.join(text for text, _, _ in windows)}", tuple((name, window) for _, name, window in windows)


def _parse_window(cursor: Cursor) -> tuple[str, str, syntax.WindowSpec]:
    name = cursor.name("the name of a window")
    cursor.expect("AS")
    text, window = parse_window_definition(cursor)
    return f"{quote_name(name)} AS {text}", name, window


def _parse_row(cursor: Cursor) -> tuple[syntax.Node, ...]:
    cursor.expect("ROW")
    return () if cursor.accept("( )") else cursor.parenthesised_list(parse_value)


def parse_value(cursor: Cursor) -> syntax.Node:
    """Parse an expression or DEFAULT."""
    if cursor.begins_default():
        cursor.take()
        return syntax.DefaultValue()
    return cursor.grammar.expression(cursor)


def _parse_lock(cursor: Cursor) -> str:
    """Parse an optional `FOR UPDATE [OF …] [NOWAIT]`. LOCK IN SHARE MODE means FOR SHARE."""
    if cursor.accept("LOCK IN SHARE MODE"):
        return "FOR SHARE"
    if not cursor.accept("FOR"):
        return ""
    lock = f"FOR {cursor.one_of('UPDATE', 'SHARE')}"
    if cursor.accept("OF"):
        lock += f" OF {', '.join(cursor.comma_list(parse_table_name))}"
    if lock.startswith("FOR UPDATE") and cursor.accept("WAIT"):
        return f"{lock} WAIT {cursor.integer()}"
    return lock + next((f" {option}" for option in ("NOWAIT", "SKIP LOCKED") if cursor.accept(option)), "")


def _parse_into_outfile(cursor: Cursor) -> str:
    return f"INTO OUTFILE {quote_string(cursor.string())}" if cursor.accept("INTO OUTFILE") else ""


ColumnsOf = Callable[[str, str], Sequence[str]]
"""Returns the columns of a table, given its schema (empty for the current one) and name; raises KeyError."""

NamedTables = Mapping[str, Sequence[str]]
"""The columns of common tables, by lower case."""


def field_names(query: QueryTree, columns_of: ColumnsOf) -> tuple[str, ...]:
    """Return the names of the columns of a view with that query; none if they are unknown."""
    try:
        return tuple(_distinct_names(query) or _names(query, columns_of, {}))
    except (KeyError, RecursionError):
        return ()


def _distinct_names(query: QueryTree) -> list[str]:
    """Return the names of the columns of the first SELECT, none with a `*`. Those of expressions without an alias change
    if they are taken (tidb pkg/planner/core/logical_plan_builder.go, addAliasName)."""
    while isinstance(query, WithTree | SetOperation):
        query = query.query if isinstance(query, WithTree) else query.left
    items = [item for item in query.items if isinstance(item, SelectItem)] if isinstance(query, SelectTree) else []
    if not isinstance(query, SelectTree) or len(items) < len(query.items):
        return []
    counts = {item.name.lower(): 0 for item in items if not item.anonymous}
    names = []
    for item in items:
        name, count = item.name, counts.get(item.name.lower())
        if item.anonymous:
            names.append(name if count is None else f"Name_exp_{count}_{name}" if count else f"Name_exp_{name}")
            counts[name.lower()] = 0 if count is None else count + 1
        else:
            names.append(name)
    return names


def _names(query: QueryTree, columns_of: ColumnsOf, common: NamedTables) -> Iterator[str]:
    match query:
        case WithTree():
            for table in query.tables:
                # a recursive table is named by its first part
                common = {**common, table.name.lower(): table.columns or tuple(_names(table.query, columns_of, common))}
            yield from _names(query.query, columns_of, common)
        case SetOperation():
            yield from _names(query.left, columns_of, common)
        case SelectTree():
            for item in query.items:
                if isinstance(item, SelectItem):
                    yield item.name
                elif query.source is not None:
                    yield from _columns(query.source, item, columns_of, common)
        case _:
            yield from (f"column_{place}" for place in range(len(query.rows[0])))


def _columns(source: Source, star: Star, columns_of: ColumnsOf, common: NamedTables) -> Sequence[str]:
    """Return the columns of a source that `*` or `t.*` stands for."""
    match source:
        case Join():
            left, right = (_columns(side, star, columns_of, common) for side in (source.left, source.right))
            return _joined(source, left, right) if star.table is None else (*left, *right)
        case DerivedTable():
            found = source.columns or tuple(_names(source.query, columns_of, common))
            return found if _is_of(star, source.alias) else ()
        case TableSource():
            schema, name = source.name
            if not _is_of(star, source.alias or name):
                return ()
            named = None if schema else common.get(name.lower())
            return columns_of(schema, name) if named is None else named


def _is_of(star: Star, name: str) -> bool:
    return star.table is None or star.table.name.lower() == name.lower()


def _joined(join: Join, left: Sequence[str], right: Sequence[str]) -> Sequence[str]:
    """Return the columns of a join: first those that both sides share by USING or NATURAL, once."""
    other = {name.lower() for name in right}
    shared = {name.lower() for name in left} & other if join.natural else {name.lower() for name in join.using}
    if not shared:
        return (*left, *right)
    first, second = (right, left) if join.kind == "RIGHT" else (left, right)
    once = [name for name in first if name.lower() in shared]
    return (*once, *(name for name in (*first, *second) if name.lower() not in shared))
