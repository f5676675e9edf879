"""Parse optimizer hints `/*+ … */`, and restore them as TiDB does.

TiDB drops all hints if it cannot parse one, and drops a single hint that it does not support (pkg/parser/hintparser.y,
pkg/parser/ast/misc.go TableOptimizerHint.Restore).
"""

from __future__ import annotations

from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.tokens import MYSQL, Tokenizer
from simulator.tidb.restore.expressions import quote_name, quote_string, restore_table_name

BARE = frozenset(
    """
    USE_PLAN_CACHE HASH_AGG MPP_1PHASE_AGG MPP_2PHASE_AGG STREAM_AGG AGG_TO_COP LIMIT_TO_COP NO_INDEX_MERGE
    READ_CONSISTENT_REPLICA IGNORE_PLAN_CACHE STRAIGHT_JOIN SEMI_JOIN_REWRITE NO_DECORRELATE
    """.split()
)
TABLES = frozenset(
    """
    MERGE_JOIN NO_MERGE_JOIN BROADCAST_JOIN SHUFFLE_JOIN INL_JOIN INL_HASH_JOIN NO_INDEX_JOIN NO_INDEX_HASH_JOIN
    INL_MERGE_JOIN NO_INDEX_MERGE_JOIN HASH_JOIN NO_HASH_JOIN HASH_JOIN_BUILD HASH_JOIN_PROBE LEADING MERGE TIDB_HJ
    TIDB_SMJ TIDB_INLJ
    """.split()
)
INDEXES = frozenset(("USE_INDEX", "IGNORE_INDEX", "USE_INDEX_MERGE", "FORCE_INDEX", "ORDER_INDEX", "NO_ORDER_INDEX"))
NUMBERS = frozenset(("MAX_EXECUTION_TIME", "NTH_PLAN"))
FLAGS = frozenset(("USE_TOJA", "USE_CASCADES"))


def parse_hints(cursor: Cursor) -> str:
    """Parse a comment with hints, and return the hints that TiDB keeps."""
    text = cursor.literal()[3:-2]
    try:
        return _parse_hints(Cursor(text, Tokenizer(MYSQL).tokenize(text), cursor.grammar))
    except (SchemaError, SqlglotError):
        return ""


def _parse_hints(cursor: Cursor) -> str:
    hints: list[str] = []
    while not cursor.at_end():
        hints += _parse_hint(cursor)
        cursor.accept(",")
    return " ".join(hint for hint in hints if hint)


def _parse_hint(cursor: Cursor) -> list[str]:
    name = cursor.keyword("a hint")
    cursor.expect("(")
    if name == "READ_FROM_STORAGE":
        hints = _parse_storage_hints(cursor, name)
    else:
        hints = [f"{name}({text})" for text in _parse_hint_body(cursor, name)]
    cursor.expect(")")
    return hints


def _parse_hint_body(cursor: Cursor, name: str) -> list[str]:
    """Parse the text in parentheses, and return nothing for a hint that TiDB does not support."""
    if name in ("QB_NAME", "RESOURCE_GROUP"):
        return [quote_name(cursor.name())]
    if name == "SET_VAR":
        return [_parse_variable(cursor)]
    if name == "TIME_RANGE":
        start = cursor.string()
        cursor.accept(",")
        return [f"{quote_string(start)}, {quote_string(cursor.string())}"]
    block = _parse_query_block(cursor)
    if name in BARE:
        return [block]
    space = " " if block else ""
    if name in TABLES:
        return [f"{block}{space}{_parse_tables(cursor)}" if cursor.word() != ")" else block + space]
    if name in INDEXES:
        return [f"{block}{space}{_parse_indexes(cursor)}"]
    return [f"{block}{space}{argument}" for argument in _parse_hint_argument(cursor, name)]


def _parse_hint_argument(cursor: Cursor, name: str) -> list[str]:
    if name in NUMBERS:
        return [str(cursor.integer())]
    if name in FLAGS:
        return [cursor.take() if cursor.word() in ("TRUE", "FALSE") else cursor.unexpected("TRUE or FALSE")]
    if name == "QUERY_TYPE":
        return [cursor.take() if cursor.word() in ("OLAP", "OLTP") else cursor.unexpected("OLAP or OLTP")]
    if name == "MEMORY_QUOTA":
        amount = cursor.integer()
        unit = cursor.take()
        return [f"{amount * (1024 if unit == 'GB' else 1)} MB"] if unit in ("MB", "GB") else cursor.unexpected("MB")
    if cursor.word() == ")":
        cursor.unexpected("an argument")
    while cursor.word() not in (")", "", "("):
        cursor.take() if cursor.kind() == "word" else cursor.literal()
    return []


def _parse_variable(cursor: Cursor) -> str:
    name = cursor.name()
    cursor.expect("=")
    sign = cursor.take() if cursor.word() in ("-", "+") else ""
    value = str(cursor.integer()) if cursor.kind() == "number" else cursor.name_or_string("a value")
    return f"{name} = {quote_string(sign.strip('+') + value)}"


def _parse_query_block(cursor: Cursor) -> str:
    """Parse an optional `@block`."""
    return f"@{quote_name(cursor.name())}" if cursor.accept("@") else ""


def _parse_tables(cursor: Cursor) -> str:
    return ", ".join(cursor.comma_list(_parse_table))


def _parse_table(cursor: Cursor) -> str:
    name = restore_table_name(cursor.qualified_name("a table"))
    block = _parse_query_block(cursor)
    if not cursor.accept("PARTITION"):
        return name + block
    names = cursor.parenthesised_list(lambda cursor: cursor.name("a partition"))
    return f"{name}{block} PARTITION({', '.join(map(quote_name, names))})"


def _parse_indexes(cursor: Cursor) -> str:
    table = _parse_table(cursor)
    cursor.accept(",")
    names: list[str] = []
    while cursor.word() != ")":
        names.append(quote_name(cursor.name("an index")))
        if not cursor.accept(","):
            break
    return f"{table} {', '.join(names)}"


def _parse_storage_hints(cursor: Cursor, name: str) -> list[str]:
    block = _parse_query_block(cursor)
    space = " " if block else ""
    hints = []
    while True:
        kind = cursor.take()
        if kind not in ("TIKV", "TIFLASH"):
            cursor.unexpected("TIKV or TIFLASH")
        cursor.expect("[")
        hints.append(f"{name}({block}{space}{kind}[{_parse_tables(cursor)}])")
        cursor.expect("]")
        if not cursor.accept(","):
            return hints
