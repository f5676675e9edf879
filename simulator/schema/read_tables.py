"""Reads a whole CREATE TABLE statement.

One law: TABLE_OPTIONS lists every option a table can have, and the words that follow its first.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_columns import read_column
from simulator.schema.read_keys import begins_key, read_key
from simulator.schema.read_partitions import read_partitioning
from simulator.schema.syntax import ColumnSyntax, KeySyntax, TableOption, TableSyntax

TABLE_OPTIONS = MappingProxyType({
    **dict.fromkeys((
        "ENGINE", "AUTO_INCREMENT", "AVG_ROW_LENGTH", "CHECKSUM", "COMMENT", "COMPRESSION", "CONNECTION", "ENCRYPTION",
        "DELAY_KEY_WRITE", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PASSWORD",
        "ROW_FORMAT", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "STATS_BUCKETS", "STATS_TOPN",
        "STATS_SAMPLE_RATE", "STATS_COL_CHOICE", "STATS_COL_LIST", "TABLESPACE", "TABLE_CHECKSUM", "UNION",
        "SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE", "ENGINE_ATTRIBUTE", "NODEGROUP", "AUTOEXTEND_SIZE",
        "PAGE_CHECKSUM", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "TRANSACTIONAL", "IETF_QUOTES", "SEQUENCE",
        "AUTO_ID_CACHE", "AUTO_RANDOM_BASE", "SHARD_ROW_ID_BITS", "PRE_SPLIT_REGIONS", "TTL_ENABLE",
        "TTL_JOB_INTERVAL", "CHARSET", "COLLATE", "STORAGE", "AFFINITY",
    ), ""),
    "CHARACTER": "SET",
    "CHAR": "SET",
    "DATA": "DIRECTORY",
    "INDEX": "DIRECTORY",
    "PLACEMENT": "POLICY",
    "FORCE": "AUTO_INCREMENT",
})


def begins_other_statement(parser: TiDBParser) -> bool:
    """Whether a statement comes that neither makes a table nor changes one."""
    if parser.word() == "CREATE":
        return parser.word_after() in OTHER_OBJECTS
    return parser.word() in OTHER_STATEMENTS


OTHER_STATEMENTS = frozenset(("SET", "USE", "DROP", "LOCK", "UNLOCK", "START", "BEGIN", "COMMIT"))
OTHER_OBJECTS = frozenset((
    "DATABASE", "SCHEMA", "VIEW", "OR", "SEQUENCE", "PLACEMENT", "ALGORITHM", "DEFINER", "SQL", "USER", "ROLE",
    "RESOURCE",
))


def begins_create_table(parser: TiDBParser) -> bool:
    """Passes over `CREATE [[GLOBAL] TEMPORARY] TABLE`, or says that another statement comes."""
    if not parser.accept("CREATE"):
        return False
    parser.accept("GLOBAL TEMPORARY") or parser.accept("LOCAL TEMPORARY") or parser.accept("TEMPORARY")
    return parser.accept("TABLE")


def read_create_table(parser: TiDBParser) -> TableSyntax:
    """A CREATE TABLE statement, up to its end; raises SchemaError."""
    at = parser.next_token().start
    if not begins_create_table(parser):
        parser.unexpected("CREATE TABLE", ("CREATE", "TABLE"))
    parser.accept("IF NOT EXISTS")
    schema, name = parser.qualified_name("the name of the table")
    if parser.word() == "LIKE" or parser.word() == "(" and parser.word_after() == "LIKE":
        parser.fail(f"CREATE TABLE {name!r} LIKE another table: write its columns out")
    columns, keys = elements(parser)
    options, partitioning = [], None
    while not parser.at_end():
        parser.accept(",")
        if parser.accept("PARTITION BY"):
            partitioning = read_partitioning(parser)
        elif parser.accept("ON COMMIT"):
            if not parser.accept("DELETE ROWS"):
                parser.expect("PRESERVE ROWS")
        else:
            options.append(read_option(parser))
    return TableSyntax(schema, name, columns, keys, tuple(options), partitioning, at)


def elements(parser: TiDBParser) -> tuple[tuple[ColumnSyntax, ...], tuple[KeySyntax, ...]]:
    """The columns, and the keys that stand beside them."""
    read = parser.comma_separated(lambda cursor: read_key(cursor) if begins_key(cursor) else read_column(cursor))
    columns = tuple(element for element in read if isinstance(element, ColumnSyntax))
    return columns, tuple(element for element in read if isinstance(element, KeySyntax))


def read_option(parser: TiDBParser) -> TableOption:
    """One table option."""
    parser.accept("DEFAULT")
    word = parser.word()
    if word in ("AS", "SELECT", "IGNORE", "REPLACE"):
        parser.fail("CREATE TABLE … SELECT is not what TiDB takes; write the columns out")
    if word == "TTL":
        return TableOption("TTL", time_to_live(parser))
    if word not in TABLE_OPTIONS:
        parser.unexpected("a table option (ENGINE, CHARSET, COLLATE, COMMENT, AUTO_INCREMENT, TTL, …) or PARTITION BY",
                          TABLE_OPTIONS)
    parser.take()
    if TABLE_OPTIONS[word]:
        parser.expect(TABLE_OPTIONS[word])
    parser.accept("=")
    return TableOption("CHARSET" if word in ("CHARACTER", "CHAR") else word, option_value(parser))


def option_value(parser: TiDBParser) -> str:
    """A word, a literal or something in parentheses."""
    if parser.word() == "(":
        return parser.skip_parenthesised()
    if parser.kind() in ("string", "number", "introducer"):
        return parser.string() if parser.kind() == "introducer" else parser.literal()
    return parser.name("a value")


def time_to_live(parser: TiDBParser) -> str:
    """``TTL = `column` + INTERVAL 3 MONTH``"""
    parser.take()
    parser.accept("=")
    start = parser.next_token()
    parser.name("a column")
    parser.expect("+")
    parser.expect("INTERVAL")
    if parser.kind() not in ("string", "number"):
        parser.unexpected("an amount")
    parser.literal()
    parser.name("a unit of time")
    return parser.text_since(start)
