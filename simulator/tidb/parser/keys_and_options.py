"""Parse keys and constraints of CREATE TABLE and ALTER TABLE, and options of tables and partitions.

Of several equal options of a key the last one counts, except that GLOBAL stays GLOBAL (TiDB v8.5: pkg/parser/parser.y,
IndexOptionList, TableOption and PartDefOption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from msgspec.structs import replace

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.expressions import (
    parse_charset_name,
    parse_closed_parentheses,
    parse_collation_name,
    parse_column_name,
    parse_expression,
    parse_literal,
)
from simulator.tidb.parser.tokens import parse_unit
from simulator.tidb.restore import quote_name, restore_table_name
from simulator.tidb.syntax.definitions import TableOption

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")
INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")

TABLE_ELEMENTS = {
    **{word: word.lower() for word in ("CONSTRAINT", "PRIMARY", "UNIQUE", "KEY")},
    "INDEX": "key",
    **{word: word.lower() for word in ("FOREIGN", "CHECK", "FULLTEXT", "VECTOR", "COLUMNAR")},
}
NAMED_TYPE = ("primary", "unique", "key", "vector", "columnar")
"""Kinds that may have USING before their columns."""

MAY_EXIST = ("key", "foreign", "vector", "columnar")
"""Kinds that accept IF NOT EXISTS."""


# -- parts of keys ------------------------------------------------------------------------------------------------


def parse_key_part(cursor: Cursor) -> syntax.KeyPart:
    """Parse `column [(prefix length)] [ASC | DESC]`, or an expression in parentheses."""
    at = cursor.next_token().start
    if cursor.word() == "(":
        expression = parse_closed_parentheses(cursor)
        part = syntax.KeyPart("", expression=expression.text, at=at, restored=expression.restored)
    else:
        qualifier, column = parse_column_name(cursor, "a column or an expression in parentheses")
        length = -1
        if cursor.accept("("):
            length = cursor.count("a prefix length")
            cursor.expect(")")
        part = syntax.KeyPart(column, length, at=at, qualifier=qualifier)
    return parse_direction(cursor, part)


def parse_direction(cursor: Cursor, part: syntax.KeyPart) -> syntax.KeyPart:
    """Parse an optional ASC or DESC, and return the part with it."""
    if cursor.accept("DESC"):
        return replace(part, descending=True)
    cursor.accept("ASC")
    return part


def parse_check(cursor: Cursor, name: str = "") -> syntax.CheckDefinition:
    """Parse the rest of CHECK: `(expression) [[NOT] ENFORCED]`. A NOT NULL after it is not part of it."""
    condition = parse_closed_parentheses(cursor)
    enforced = cursor.accept("ENFORCED") or not cursor.accept("NOT ENFORCED")
    return syntax.CheckDefinition(condition, enforced, name)


def parse_references(cursor: Cursor) -> syntax.References:
    """Parse the rest of REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`, the ONs in any order."""
    table = cursor.qualified_name("a table")
    parts = cursor.parenthesised_list(parse_key_part) if cursor.word() == "(" else ()
    match = cursor.one_of("FULL", "PARTIAL", "SIMPLE") if cursor.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while cursor.word() == "ON" and not all(actions.values()):
        cursor.take()
        event = cursor.one_of(*(event for event, action in actions.items() if not action))
        actions[event] = cursor.one_of(*REFERENCE_ACTIONS)
    return syntax.References(table, parts, match, actions["DELETE"], actions["UPDATE"])


# -- options of keys ----------------------------------------------------------------------------------------------


def parse_key_options(cursor: Cursor) -> syntax.KeyOptions:
    """Parse key options, up to the first word that is none; raises SchemaError."""
    options = syntax.KeyOptions()
    while (word := cursor.word()) in KEY_OPTIONS:
        cursor.take()
        if word in WITH_EQUALS:
            cursor.accept("=")
        options = replace(options, **KEY_OPTIONS[word](cursor, options))
    return options


def parse_pre_split(cursor: Cursor) -> str:
    """Parse `n`, `(BETWEEN (…) AND (…) REGIONS n)` or `(BY (…), …)`."""
    if not cursor.accept("("):
        return str(cursor.count())
    text = f"BY {','.join(cursor.comma_list(parse_row))}" if cursor.accept("BY") else parse_split_between(cursor)
    cursor.expect(")")
    return f"({text})"


def parse_split_between(cursor: Cursor) -> str:
    low, high = cursor.sequence("BETWEEN", parse_row, "AND", parse_row, "REGIONS")
    return f"BETWEEN {low} AND {high} REGIONS {cursor.count()}"


def parse_row(cursor: Cursor) -> str:
    """Parse `(value, …)` or `()`, and return it as TiDB writes it back."""
    if cursor.word_after() == ")" and cursor.accept("( )"):
        return "()"
    return f"({','.join(cursor.parenthesised_list(lambda cursor: parse_expression(cursor).restored))})"


def parse_parser_name(cursor: Cursor) -> str:
    cursor.expect("PARSER")
    return cursor.name("a parser")


KEY_OPTIONS: Mapping[str, Callable[[Cursor, syntax.KeyOptions], dict[str, Any]]] = {
    "KEY_BLOCK_SIZE": lambda cursor, options: {"key_block_size": cursor.count() or options.key_block_size},
    "USING": lambda cursor, _: {"using": cursor.one_of(*INDEX_TYPES)},
    "TYPE": lambda cursor, _: {"using": cursor.one_of(*INDEX_TYPES)},
    "COMMENT": lambda cursor, options: {"comment": cursor.plain_string("a comment in quotes") or options.comment or ""},
    "WITH": lambda cursor, _: {"parser": parse_parser_name(cursor)},
    "VISIBLE": lambda *_: {"visible": True},
    "INVISIBLE": lambda *_: {"visible": False},
    "CLUSTERED": lambda *_: {"clustered": True},
    "NONCLUSTERED": lambda *_: {"clustered": False},
    "GLOBAL": lambda *_: {"scope": "GLOBAL"},
    "LOCAL": lambda _, options: {"scope": options.scope or "LOCAL"},
    "PRE_SPLIT_REGIONS": lambda cursor, _: {"pre_split": parse_pre_split(cursor)},
    "SECONDARY_ENGINE_ATTRIBUTE": lambda cursor, _: {"secondary_engine_attribute": cursor.plain_string()},
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": lambda *_: {"on_demand": True},
    "WHERE": lambda cursor, _: {"condition": parse_expression(cursor)},
}
"""By first word: the fields of KeyOptions that an option sets."""

WITH_EQUALS = ("KEY_BLOCK_SIZE", "PRE_SPLIT_REGIONS", "SECONDARY_ENGINE_ATTRIBUTE")
"""The options that accept `=` before their value."""


# -- keys and constraints -----------------------------------------------------------------------------------------


def begins_key(cursor: Cursor) -> bool:
    """Whether a key or constraint comes next."""
    word = cursor.word()
    if word in ("VECTOR", "COLUMNAR"):
        return cursor.word_after() == "INDEX"
    return word in TABLE_ELEMENTS


def parse_key(cursor: Cursor) -> syntax.KeyDefinition:
    """Parse a key or constraint with its options; raises SchemaError."""
    at = cursor.next_token().start
    name = None
    if cursor.accept("CONSTRAINT") and cursor.word() not in TABLE_ELEMENTS:
        name = cursor.name("the name of a constraint")
    if not begins_key(cursor) or cursor.word() == "CONSTRAINT":
        cursor.unexpected(f"one of {', '.join(TABLE_ELEMENTS)}", TABLE_ELEMENTS)
    kind = TABLE_ELEMENTS[cursor.take()]
    if kind == "check":
        return syntax.KeyDefinition("check", name or "", (), at=at, check=parse_check(cursor, name or ""))
    if kind in ("primary", "foreign"):
        cursor.expect("KEY")
    elif kind in ("vector", "columnar"):
        cursor.expect("INDEX")
    elif kind != "key":
        cursor.accept("KEY") or cursor.accept("INDEX")
    return parse_key_body(cursor, kind, name, at)


def parse_key_body(cursor: Cursor, kind: str, constraint: str | None, at: int) -> syntax.KeyDefinition:
    """Parse `[IF NOT EXISTS] [name] [USING t] (part, …)`, then options, or REFERENCES of a foreign key.

    `constraint` is the name after CONSTRAINT, or None.
    """
    if_not_exists = kind in MAY_EXIST and cursor.accept("IF NOT EXISTS")
    own_name = None if cursor.word() in ("(", "USING") else cursor.name("the name of a key, or '('")
    name = own_name if constraint is None else constraint
    has_type = kind in NAMED_TYPE and (cursor.accept("USING") or bool(own_name) and cursor.accept("TYPE"))
    using = cursor.one_of(*INDEX_TYPES) if has_type else ""
    parts = cursor.parenthesised_list(parse_key_part)
    references, options = None, syntax.KeyOptions()
    if kind == "foreign":
        cursor.expect("REFERENCES")
        references = parse_references(cursor)
    else:
        options = parse_key_options(cursor)
    if using:
        options = replace(options, using=using)
    return syntax.KeyDefinition(kind, name or "", parts, options, at, if_not_exists, references, empty_name=name == "")


def expect_key_end(cursor: Cursor) -> None:
    """Raise SchemaError unless `,` or `)` follows."""
    if cursor.word() not in (",", ")"):
        cursor.unexpected(f"',' or ')' or one of {', '.join(KEY_OPTIONS)}", KEY_OPTIONS if cursor.word() else ())


# -- options of tables and partitions -----------------------------------------------------------------------------


ROW_FORMATS = tuple(
    """
    DEFAULT DYNAMIC FIXED COMPRESSED REDUNDANT COMPACT TOKUDB_DEFAULT TOKUDB_FAST TOKUDB_SMALL TOKUDB_ZLIB TOKUDB_ZSTD
    TOKUDB_QUICKLZ TOKUDB_LZMA TOKUDB_SNAPPY TOKUDB_UNCOMPRESSED
    """.split()
)
WITHOUT_EQUALS = ("STORAGE DISK", "STORAGE MEMORY")

Parser = Callable[[Cursor, str], TableOption]


def parse_number_option(cursor: Cursor, name: str) -> TableOption:
    """Parse a number. The name of an option may begin with FORCE."""
    return TableOption(name.removeprefix("FORCE "), str(cursor.count()), force=name.startswith("FORCE "))


def parse_text_option(cursor: Cursor, name: str) -> TableOption:
    return TableOption(name, cursor.plain_string(), quoted=True)


def parse_sample_rate(cursor: Cursor, name: str) -> TableOption:
    if cursor.kind() != "number" and cursor.word() != ".":
        cursor.unexpected("a number")
    return TableOption(name, parse_literal(cursor).restored)


def parse_secondary_engine(cursor: Cursor, name: str) -> TableOption:
    return TableOption(name, "NULL", default=True) if cursor.accept("NULL") else parse_word_option(cursor, name)


def parse_number_or_default(cursor: Cursor, name: str) -> TableOption:
    if cursor.accept("DEFAULT"):
        return TableOption(name, "DEFAULT", default=True)
    return TableOption(name, str(cursor.count("a whole number or DEFAULT")))


def parse_switch(cursor: Cursor, name: str) -> TableOption:
    """Parse 0, 1 or DEFAULT."""
    token = cursor.next_token()
    option = parse_number_or_default(cursor, name)
    if option.value not in ("0", "1", "DEFAULT"):
        cursor.fail(f"{name} {option.value} is not possible; accepted: 0, 1, DEFAULT", token)
    return option


def parse_word_option(cursor: Cursor, name: str) -> TableOption:
    """Parse a word or a string."""
    if cursor.kind() == "string":
        return TableOption(name, cursor.plain_string(), quoted=True)
    return TableOption(name, cursor.name("a word or a string"))


def parse_union(cursor: Cursor, name: str) -> TableOption:
    """Parse `(a, d.b)`. The value is kept as TiDB writes it back."""
    names = () if cursor.accept("( )") else cursor.parenthesised_list(lambda cursor: cursor.qualified_name("a table"))
    return TableOption(name, f"({','.join(map(restore_table_name, names))})")


def parse_encryption(cursor: Cursor, name: str) -> TableOption:
    token, value = cursor.next_token(), cursor.plain_string()
    if value not in ("Y", "y", "N", "n"):
        message = f"{position(cursor.sql, token.start)}: ENCRYPTION {value!r} is not possible; accepted: 'Y', 'N'"
        raise SchemaError(message, number=1525, said=f"Incorrect argument (should be Y or N) value: '{value}'")
    return TableOption(name, value, quoted=True)


def parse_placement(cursor: Cursor, name: str) -> TableOption:
    """Parse the rest of `PLACEMENT POLICY [=] p`, `[=] DEFAULT` or `SET DEFAULT`."""
    if not cursor.accept("SET") and cursor.word() != "DEFAULT":
        return parse_word_option(cursor, name)
    default = cursor.written()
    cursor.expect("DEFAULT")
    return TableOption(name, default, default=True)


def parse_time_to_live(cursor: Cursor, name: str) -> TableOption:
    """Parse ``column + INTERVAL 3 MONTH``. The value is kept as TiDB writes it back."""
    column = cursor.name("a column")
    cursor.sequence("+", "INTERVAL")
    amount = parse_literal(cursor, "an amount").restored
    return TableOption(name, f"{quote_name(column)} + INTERVAL {amount} {parse_unit(cursor).text}")


def parse_on_or_off(cursor: Cursor, name: str) -> TableOption:
    token, value = cursor.next_token(), cursor.plain_string().upper()
    if value not in ("ON", "OFF"):
        cursor.fail(f"{name} {value!r} is not possible; accepted: 'ON', 'OFF'", token)
    return TableOption(name, value, quoted=True)


def parse_duration_option(cursor: Cursor, name: str) -> TableOption:
    """Parse days, hours and minutes: `1d12h`, `90m`."""
    token, value = cursor.next_token(), cursor.plain_string()
    parts = value.replace("d", "d ").replace("h", "h ").replace("m", "m ").split(" ")
    if parts.pop() or not parts or not all(part[:-1].replace(".", "", 1).isdecimal() for part in parts):
        cursor.fail(f"{name} {value!r} is no duration; accepted: days, hours and minutes, as in '1d12h30m'", token)
    return TableOption(name, value, quoted=True)


def parse_soft_delete(cursor: Cursor, name: str) -> TableOption:
    """Parse `RETENTION 7 DAY` or 'OFF'."""
    token = cursor.next_token()
    if cursor.accept("RETENTION"):
        return TableOption(name, f"RETENTION {cursor.integer('a number')} {parse_unit(cursor).text}")
    value = cursor.plain_string().upper()
    if value != "OFF":
        cursor.fail("The SOFTDELETE option must be RETENTION XXX or 'OFF'", token)
    return TableOption(name, value, quoted=True)


SOFT_DELETE_OPTIONS: Mapping[str, Parser] = {
    "SOFTDELETE": parse_soft_delete,
    "SOFTDELETE_JOB_ENABLE": parse_on_or_off,
    "SOFTDELETE_JOB_INTERVAL": parse_duration_option,
    "ACTIVE_ACTIVE": parse_on_or_off,
}
"""The options of tables and databases whose rows TiDB only marks as deleted."""


def begins_option(cursor: Cursor) -> bool:
    return bool(next_option_words(cursor))


def begins_partition_option(cursor: Cursor) -> bool:
    return next_option_words(cursor) in PARTITION_OPTIONS


def next_option_words(cursor: Cursor) -> str:
    """Return the one or two words of the option that comes next, or ""."""
    two_words = f"{cursor.word()} {cursor.word_after()}"
    return two_words if two_words in OPTIONS else cursor.word() if cursor.word() in OPTIONS else ""


def parse_option(cursor: Cursor) -> TableOption:
    """Parse an option with its value; raises SchemaError."""
    words = next_option_words(cursor)
    if not words:
        fail_unknown_option(cursor)
    cursor.expect(words)
    if words in ("DEFAULT CHARACTER", "DEFAULT CHAR"):
        cursor.expect("SET")
    if words not in WITHOUT_EQUALS:
        cursor.accept("=")
    return OPTIONS[words](cursor, words)


def fail_unknown_option(cursor: Cursor) -> NoReturn:
    """Raise SchemaError because the next token begins no option."""
    cursor.unexpected(
        "a table option (ENGINE, CHARSET, COLLATE, COMMENT, AUTO_INCREMENT, TTL, …) or PARTITION BY",
        [words.split()[0] for words in OPTIONS],
    )


PARTITION_OPTIONS: Mapping[str, Parser] = {
    **dict.fromkeys(("COMMENT", "DATA DIRECTORY", "INDEX DIRECTORY", "SECONDARY_ENGINE_ATTRIBUTE"), parse_text_option),
    **dict.fromkeys(("INSERT_METHOD", "ENGINE_ATTRIBUTE"), parse_word_option),
    **dict.fromkeys(("MAX_ROWS", "MIN_ROWS", "NODEGROUP"), parse_number_option),
    **dict.fromkeys(("ENGINE", "STORAGE ENGINE"), lambda cursor, _: parse_word_option(cursor, "ENGINE")),
    "TABLESPACE": lambda cursor, name: TableOption(name, cursor.name("a name")),
    "PLACEMENT POLICY": parse_placement,
}

NUMBERED = """
    AUTO_INCREMENT AUTO_ID_CACHE AUTO_RANDOM_BASE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM KEY_BLOCK_SIZE DELAY_KEY_WRITE
    STATS_BUCKETS STATS_TOPN SHARD_ROW_ID_BITS PRE_SPLIT_REGIONS PAGE_CHECKSUM PAGE_COMPRESSED PAGE_COMPRESSION_LEVEL
    TRANSACTIONAL SEQUENCE
    """.split()
CHARSETS = ("CHARSET", "CHARACTER SET", "CHAR SET", "DEFAULT CHARSET", "DEFAULT CHARACTER", "DEFAULT CHAR")
COLLATES = ("COLLATE", "DEFAULT COLLATE")

OPTIONS: Mapping[str, Parser] = {
    **PARTITION_OPTIONS,
    **dict.fromkeys((*NUMBERED, "FORCE AUTO_INCREMENT", "FORCE AUTO_RANDOM_BASE"), parse_number_option),
    **dict.fromkeys(("STATS_PERSISTENT", "PACK_KEYS", "STATS_SAMPLE_PAGES"), parse_number_or_default),
    **dict.fromkeys("CONNECTION PASSWORD COMPRESSION STATS_COL_CHOICE STATS_COL_LIST".split(), parse_text_option),
    **dict.fromkeys(("AUTOEXTEND_SIZE", "IETF_QUOTES", "AFFINITY"), parse_word_option),
    **dict.fromkeys(CHARSETS, lambda cursor, _: TableOption("CHARSET", parse_charset_name(cursor))),
    **dict.fromkeys(COLLATES, lambda cursor, _: TableOption("COLLATE", parse_collation_name(cursor))),
    **dict.fromkeys(WITHOUT_EQUALS, lambda _, name: TableOption("STORAGE", name.split()[1])),
    "STATS_AUTO_RECALC": parse_switch,
    "STATS_SAMPLE_RATE": parse_sample_rate,
    "ROW_FORMAT": lambda cursor, name: TableOption(name, cursor.one_of(*ROW_FORMATS)),
    "SECONDARY_ENGINE": parse_secondary_engine,
    "UNION": parse_union,
    "ENCRYPTION": parse_encryption,
    "TTL": parse_time_to_live,
    "TTL_ENABLE": parse_on_or_off,
    "TTL_JOB_INTERVAL": parse_duration_option,
    **SOFT_DELETE_OPTIONS,
}
"""The parser of each option's value, by the words of the option."""
