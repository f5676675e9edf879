"""Parse LOAD DATA LOCAL (tidb pkg/parser/parser.y, LoadDataStmt)."""

from __future__ import annotations

from typing import Any

from simulator.errors import SqlError
from simulator.tidb.parser.clauses import accept_charset, parse_charset_name
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.dml import parse_assignment
from simulator.tidb.parser.session import not_simulated_error
from simulator.tidb.syntax.load_data import DelimitedText, LoadData

AS_BYTES = ("utf8mb4", "utf8", "binary", "ascii")
"""Character sets of a file whose bytes are stored as they are."""

DECODED = ("gbk", "gb18030", "latin1")
"""Character sets of a file whose fields are decoded."""

WRONG_SEPARATORS = SqlError(1083, "42000", "Field separator argument is not what is expected; check the manual")


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
