"""Parse the statements that read and change rows: queries, INSERT, REPLACE, UPDATE, DELETE, LOAD DATA LOCAL.

Everything in TiDB's grammar is accepted, and clauses that are not simulated are refused by name (TiDB:
pkg/parser/parser.y, InsertIntoStmt, UpdateStmt, DeleteFromStmt, LoadDataStmt).
"""

from __future__ import annotations

from typing import Any

from simulator.tidb import syntax
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.parser.aggregates import parse_order
from simulator.tidb.parser.atoms import begins_query
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions import accept_charset, not_simulated_error, parse_charset_name
from simulator.tidb.parser.query import parse_query, parse_with
from simulator.tidb.parser.select import PRIORITIES, ParsedWith, parse_limit, parse_value
from simulator.tidb.parser.sources import (
    parse_hints,
    parse_index_hints,
    parse_name_alias,
    parse_partitions,
    parse_source_list,
    source_tree,
    tables_of,
)
from simulator.tidb.parser.tokens import LITERALS
from simulator.tidb.syntax.statements import DelimitedText, LoadData

# -- INSERT and REPLACE -------------------------------------------------------------------------------------------


def parse_insert(cursor: Cursor) -> syntax.Insert:
    _skip_hints_and_priority(cursor)
    return _parse_insert_body(cursor, replace=False, ignore=cursor.accept("IGNORE"))


def parse_replace(cursor: Cursor) -> syntax.Insert:
    _skip_hints_and_priority(cursor)
    return _parse_insert_body(cursor, replace=True, ignore=False)


def _parse_insert_body(cursor: Cursor, replace: bool, ignore: bool) -> syntax.Insert:
    cursor.accept("INTO")
    table = cursor.qualified_name()
    partitions = parse_partitions(cursor)
    columns = query = None
    rows: tuple[tuple[syntax.Node, ...], ...] | None = None
    if cursor.word() == "(" and not _begins_query(cursor):
        columns = _parse_columns(cursor)
    if cursor.accept("SET"):
        assignments = cursor.comma_list(parse_assignment)
        columns = tuple(assignment.column.parts[-1] for assignment in assignments)
        rows = (tuple(assignment.value for assignment in assignments),)
    elif cursor.word() in ("VALUES", "VALUE") and not begins_query(cursor):
        cursor.take()
        rows = cursor.comma_list(lambda cursor: () if cursor.accept("( )") else cursor.parenthesised_list(_parse_value))
    elif _begins_query(cursor):
        query = parse_query(cursor).tree
    else:
        cursor.unexpected("VALUES, SET, SELECT, TABLE or WITH", ("VALUES", "VALUE", "SET", "SELECT", "TABLE", "WITH"))
    changes = not replace and cursor.accept("ON DUPLICATE KEY UPDATE")
    on_duplicate = cursor.comma_list(parse_assignment) if changes else ()
    return syntax.Insert(table, columns, rows, query, on_duplicate, ignore, replace, partitions)


def _begins_query(cursor: Cursor) -> bool:
    """Whether a query comes next, with or without parentheses."""
    places = 0
    while cursor.word_ahead(places) == "(":
        places += 1
    return begins_query(cursor, places)


def _parse_columns(cursor: Cursor) -> tuple[str, ...]:
    return () if cursor.accept("( )") else cursor.parenthesised_list(lambda cursor: cursor.dotted_name()[-1])


def _parse_value(cursor: Cursor) -> syntax.Node:
    """Parse as `parse_value`, with a fast path for single literals, which most values are."""
    kind = cursor.kind()
    if kind in LITERALS and cursor.word_after() in (",", ")"):
        return LITERALS[kind](cursor)
    return parse_value(cursor)


# -- UPDATE -------------------------------------------------------------------------------------------------------


def parse_update(cursor: Cursor, common: ParsedWith | None = None) -> syntax.Update:
    """Parse the rest of UPDATE; `common` is the WITH before it."""
    _skip_hints_and_priority(cursor)
    ignore = cursor.accept("IGNORE")
    source = _parse_sources(cursor, "UPDATE")
    cursor.expect("SET")
    assignments = cursor.comma_list(parse_assignment)
    where, order, limit = _parse_row_selection(cursor, source)
    return syntax.Update(source, assignments, where, order, limit, ignore, _with_query(common, source))


def parse_assignment(cursor: Cursor) -> syntax.Assignment:
    """Parse `column = value`."""
    column = syntax.ColumnName(cursor.dotted_name())
    if not cursor.accept(":="):
        cursor.expect("=")
    return syntax.Assignment(column, parse_value(cursor))


# -- DELETE -------------------------------------------------------------------------------------------------------


def parse_delete(cursor: Cursor, common: ParsedWith | None = None) -> syntax.Delete:
    """Parse the rest of DELETE; `common` is the WITH before it."""
    _skip_hints_and_priority(cursor)
    cursor.accept("QUICK")
    ignore = cursor.accept("IGNORE")
    if not cursor.accept("FROM"):
        targets = cursor.comma_list(_parse_delete_target)
        cursor.expect("FROM")
        return _parse_multi_table_delete(cursor, targets, ignore, common)
    targets = cursor.comma_list(_parse_delete_target)
    if cursor.accept("USING"):
        return _parse_multi_table_delete(cursor, targets, ignore, common)
    if len(targets) > 1:
        cursor.unexpected("'USING'")
    alias = parse_name_alias(cursor) if cursor.word() != "PARTITION" else ""
    partitions = parse_partitions(cursor)
    source = syntax.TableSource(targets[0], alias or parse_name_alias(cursor))
    parse_index_hints(cursor)
    where, order, limit = _parse_row_selection(cursor, source)
    return syntax.Delete(source, (), where, order, limit, ignore, partitions, _with_query(common, source))


def parse_recover_values(cursor: Cursor) -> syntax.RecoverValues:
    cursor.expect("FROM")
    source = syntax.TableSource(_parse_delete_target(cursor))
    return syntax.RecoverValues(source, cursor.grammar.expression(cursor) if cursor.accept("WHERE") else None)


def _parse_multi_table_delete(
    cursor: Cursor, targets: tuple[syntax.TableName, ...], ignore: bool, common: ParsedWith | None
) -> syntax.Delete:
    source = _parse_sources(cursor, "DELETE")
    where = cursor.grammar.expression(cursor) if cursor.accept("WHERE") else None
    return syntax.Delete(source, targets, where, ignore=ignore, common=_with_query(common, source))


def _parse_delete_target(cursor: Cursor) -> syntax.TableName:
    """Parse `t`, `db.t`, `t.*` or `db.t.*`."""
    first = cursor.name("the name of a table")
    if not cursor.accept(".") or cursor.accept("*"):
        return syntax.TableName("", first)
    name = syntax.TableName(first, cursor.name("the name of a table"))
    if cursor.accept("."):
        cursor.expect("*")
    return name


# -- queries and statements that begin with WITH ------------------------------------------------------------------


def parse_select_statement(cursor: Cursor) -> syntax.SelectStatement:
    """Parse a whole query."""
    tree = parse_query(cursor).tree
    assert tree is not None
    return syntax.SelectStatement(tree)


def parse_with_statement(cursor: Cursor) -> syntax.SelectStatement | syntax.Update | syntax.Delete:
    """Parse a whole statement that begins with WITH."""
    common = parse_with(cursor)
    if cursor.accept("UPDATE"):
        return parse_update(cursor, common)
    if cursor.accept("DELETE"):
        return parse_delete(cursor, common)
    tree = parse_select_statement(cursor).query
    return syntax.SelectStatement(syntax.WithTree(common.tables, common.recursive, tree))


# -- shared clauses -----------------------------------------------------------------------------------------------


def _skip_hints_and_priority(cursor: Cursor) -> None:
    """Skip hints and priorities, which do not affect rows."""
    if cursor.word().startswith("/*+"):
        parse_hints(cursor)
    if cursor.word() in PRIORITIES:
        cursor.take()


def _parse_sources(cursor: Cursor, verb: str) -> syntax.Source:
    """Parse the tables after UPDATE, or after FROM or USING of DELETE."""
    join = parse_source_list(cursor)
    tables = tables_of(join)
    clause = "AS OF TIMESTAMP" if any(table.as_of for table in tables) else ""
    if clause:
        raise not_simulated(f"{verb} with {clause} is not simulated; accepted: tables, queries and joins")
    return source_tree(join)


def _parse_row_selection(
    cursor: Cursor, source: syntax.Source
) -> tuple[syntax.Node | None, tuple[syntax.OrderItem, ...], syntax.Limit | None]:
    """Parse WHERE, then ORDER BY and LIMIT without an offset, which several tables without a condition do not have."""
    where = cursor.grammar.expression(cursor) if cursor.accept("WHERE") else None
    if isinstance(source, syntax.Join) and source.on is None and not source.using and not source.natural:
        return where, (), None
    order = parse_order(cursor)
    limit = parse_limit(cursor)
    if limit and limit.tree.offset:
        cursor.unexpected("LIMIT without an offset")
    return where, order, limit.tree if limit else None


def _with_query(common: ParsedWith | None, source: syntax.Source) -> syntax.WithTree | None:
    """Return the WITH before a statement as a query of everything that the statement reads."""
    if common is None:
        return None
    return syntax.WithTree(common.tables, common.recursive, syntax.SelectTree((syntax.Star(),), source))


# -- LOAD DATA ------------------------------------------------------------------------------------------------------------


AS_BYTES = ("utf8mb4", "utf8", "binary", "ascii")
"""Character sets of a file whose bytes are stored as they are."""

DECODED = ("gbk", "gb18030", "latin1")
"""Character sets of a file whose fields are decoded."""

WRONG_SEPARATORS = sql_error(1083)


def parse_load_data(cursor: Cursor) -> LoadData:
    """Parse the rest of LOAD DATA. Raises SqlError 1235 for files that no client sends."""
    if cursor.word() in ("LOW_PRIORITY", "CONCURRENT"):
        cursor.take()
    if not cursor.accept("LOCAL"):
        raise not_simulated_error("LOAD DATA without LOCAL", "LOAD DATA LOCAL INFILE, whose client sends the file")
    cursor.expect("INFILE")
    path = cursor.string("the name of a file")
    replace = cursor.accept("REPLACE")
    if not replace:
        cursor.accept("IGNORE")  # LOCAL implies it
    cursor.expect("INTO TABLE")
    table = cursor.qualified_name()
    charset = parse_charset_name(cursor) if accept_charset(cursor) else AS_BYTES[0]
    if charset not in (*AS_BYTES, *DECODED):
        raise not_simulated_error(f"LOAD DATA … CHARACTER SET {charset}", ", ".join((*AS_BYTES, *DECODED)))
    form = DelimitedText(**_parse_fields(cursor), **_parse_lines(cursor))
    if not form.separator or not form.terminator:
        raise not_simulated_error("LOAD DATA with empty separators", "FIELDS and LINES that end with a text")
    ignored = 0
    if cursor.accept("IGNORE"):
        ignored = cursor.count()
        cursor.one_of("LINES", "ROWS")
    targets: tuple[str, ...] = ()
    if not cursor.accept("( )") and cursor.word() == "(":
        targets = cursor.parenthesised_list(_parse_target)
    assignments = cursor.comma_list(parse_assignment) if cursor.accept("SET") else ()
    if cursor.accept("WITH"):
        raise not_simulated_error("LOAD DATA … WITH", "LOAD DATA without its options")
    return LoadData(path, table, form, ignored, replace, targets, assignments, "" if charset in AS_BYTES else charset)


def _parse_target(cursor: Cursor) -> str:
    return f"@{cursor.user_variable().lower()}" if cursor.word() == "@" else cursor.dotted_name()[-1]


def _parse_fields(cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not cursor.accept("FIELDS") and not cursor.accept("COLUMNS"):
        return found
    while True:
        if cursor.accept("TERMINATED BY"):
            found["separator"] = cursor.string()
        elif cursor.accept("ENCLOSED BY") or cursor.accept("OPTIONALLY ENCLOSED BY"):
            found["quote"] = _parse_character(cursor)
        elif cursor.accept("ESCAPED BY"):
            found["escape"] = _parse_character(cursor)
        elif cursor.accept("DEFINED NULL BY"):
            found["null"] = cursor.string()
            found["quoted_null"] = cursor.accept("OPTIONALLY ENCLOSED")
        elif found:
            return found
        else:
            cursor.unexpected("TERMINATED BY, ENCLOSED BY or ESCAPED BY", ("TERMINATED", "ENCLOSED", "ESCAPED"))


def _parse_lines(cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if cursor.accept("LINES"):
        if cursor.accept("STARTING BY"):
            found["starting"] = cursor.string()
        if cursor.accept("TERMINATED BY"):
            found["terminator"] = cursor.string()
        if not found:
            cursor.unexpected("STARTING BY or TERMINATED BY", ("STARTING", "TERMINATED"))
    return found


def _parse_character(cursor: Cursor) -> str:
    text = cursor.string("a character")
    if len(text) > 1:
        raise WRONG_SEPARATORS
    return text
