"""Optimizer hints `/*+ … */` from a cursor, as text.

One law: hints that TiDB cannot read vanish, all of them, and a hint that it does not support vanishes alone
(pkg/parser/hintparser.y, pkg/parser/ast/misc.go TableOptimizerHint.Restore).
"""

from __future__ import annotations

from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.restore.restoring import quoted, string

BARE = frozenset((
    "USE_PLAN_CACHE", "HASH_AGG", "MPP_1PHASE_AGG", "MPP_2PHASE_AGG", "STREAM_AGG", "AGG_TO_COP", "LIMIT_TO_COP",
    "NO_INDEX_MERGE", "READ_CONSISTENT_REPLICA", "IGNORE_PLAN_CACHE", "STRAIGHT_JOIN", "SEMI_JOIN_REWRITE",
    "NO_DECORRELATE",
))
TABLES = frozenset((
    "MERGE_JOIN", "NO_MERGE_JOIN", "BROADCAST_JOIN", "SHUFFLE_JOIN", "INL_JOIN", "INL_HASH_JOIN", "NO_INDEX_JOIN",
    "NO_INDEX_HASH_JOIN", "INL_MERGE_JOIN", "NO_INDEX_MERGE_JOIN", "HASH_JOIN", "NO_HASH_JOIN", "HASH_JOIN_BUILD",
    "HASH_JOIN_PROBE", "LEADING", "MERGE", "TIDB_HJ", "TIDB_SMJ", "TIDB_INLJ",
))
INDEXES = frozenset(("USE_INDEX", "IGNORE_INDEX", "USE_INDEX_MERGE", "FORCE_INDEX", "ORDER_INDEX", "NO_ORDER_INDEX"))
NUMBERS = frozenset(("MAX_EXECUTION_TIME", "NTH_PLAN"))
FLAGS = frozenset(("USE_TOJA", "USE_CASCADES"))


def read_hints(parser: TiDBParser) -> str:
    """The hints of the comment that comes next; nothing where TiDB would take none."""
    text = parser.literal()[3:-2]
    inner = TiDBParser(dialect=parser.dialect)
    try:
        inner.load(text, parser.dialect.tokenize(text))
        return _hints(inner)
    except (SchemaError, SqlglotError):
        return ""


def _hints(parser: TiDBParser) -> str:
    hints: list[str] = []
    while not parser.at_end():
        hints += _hint(parser)
        parser.accept(",")
    return " ".join(hint for hint in hints if hint)


def _hint(parser: TiDBParser) -> list[str]:
    name = parser.keyword("a hint")
    parser.expect("(")
    if name == "READ_FROM_STORAGE":
        hints = _storages(parser, name)
    else:
        hints = [f"{name}({text})" for text in _inside(parser, name)]
    parser.expect(")")
    return hints


def _inside(parser: TiDBParser, name: str) -> list[str]:
    """What stands in the parentheses; nothing for a hint that TiDB does not support."""
    if name in ("QB_NAME", "RESOURCE_GROUP"):
        return [quoted(parser.name())]
    if name == "SET_VAR":
        return [_variable(parser)]
    if name == "TIME_RANGE":
        start = parser.string()
        parser.accept(",")
        return [f"{string(start)}, {string(parser.string())}"]
    block = _block(parser)
    if name in BARE:
        return [block]
    space = " " if block else ""
    if name in TABLES:
        return [f"{block}{space}{_tables(parser)}" if parser.word() != ")" else block + space]
    if name in INDEXES:
        return [f"{block}{space}{_indexes(parser)}"]
    return [f"{block}{space}{argument}" for argument in _argument(parser, name)]


def _argument(parser: TiDBParser, name: str) -> list[str]:
    if name in NUMBERS:
        return [str(parser.integer())]
    if name in FLAGS:
        return [parser.take() if parser.word() in ("TRUE", "FALSE") else parser.unexpected("TRUE or FALSE")]
    if name == "QUERY_TYPE":
        return [parser.take() if parser.word() in ("OLAP", "OLTP") else parser.unexpected("OLAP or OLTP")]
    if name == "MEMORY_QUOTA":
        amount = parser.integer()
        unit = parser.take()
        return [f"{amount * (1024 if unit == 'GB' else 1)} MB"] if unit in ("MB", "GB") else parser.unexpected("MB")
    if parser.word() == ")":
        parser.unexpected("an argument")
    while parser.word() not in (")", "", "("):
        parser.take() if parser.kind() == "word" else parser.literal()
    return []


def _variable(parser: TiDBParser) -> str:
    name = parser.name()
    parser.expect("=")
    sign = parser.take() if parser.word() in ("-", "+") else ""
    value = str(parser.integer()) if parser.kind() == "number" else parser.name_or_string("a value")
    return f"{name} = {string(sign.strip('+') + value)}"


def _block(parser: TiDBParser) -> str:
    """`@block`, or nothing."""
    return f"@{quoted(parser.name())}" if parser.accept("@") else ""


def _tables(parser: TiDBParser) -> str:
    tables = [_table(parser)]
    while parser.accept(","):
        tables.append(_table(parser))
    return ", ".join(tables)


def _table(parser: TiDBParser) -> str:
    name = ".".join(quoted(part) for part in parser.qualified_name("a table") if part)
    block = _block(parser)
    if not parser.accept("PARTITION"):
        return name + block
    names = parser.comma_separated(lambda cursor: cursor.name("a partition"))
    return f"{name}{block} PARTITION({', '.join(map(quoted, names))})"


def _indexes(parser: TiDBParser) -> str:
    table = _table(parser)
    parser.accept(",")
    names: list[str] = []
    while parser.word() != ")":
        names.append(quoted(parser.name("an index")))
        if not parser.accept(","):
            break
    return f"{table} {', '.join(names)}"


def _storages(parser: TiDBParser, name: str) -> list[str]:
    block = _block(parser)
    space = " " if block else ""
    hints = []
    while True:
        kind = parser.take()
        if kind not in ("TIKV", "TIFLASH"):
            parser.unexpected("TIKV or TIFLASH")
        parser.expect("[")
        hints.append(f"{name}({block}{space}{kind}[{_tables(parser)}])")
        parser.expect("]")
        if not parser.accept(","):
            return hints
