"""Reads the options of a table and of a partition.

One law: OPTIONS lists every option by its words, with the reader of its value (TiDB v8.5: pkg/parser/parser.y,
TableOption and PartDefOption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.option_values import (
    charset_option,
    collate,
    decimal,
    duration,
    encryption,
    engine,
    forced,
    identifier,
    media,
    number,
    number_or_default,
    on_or_off,
    placement,
    row_format,
    secondary_engine,
    text,
    time_to_live,
    union,
    word,
    zero_or_one,
)
from simulator.tidb.syntax.tables import TableOption

Value = Callable[[Cursor, str], TableOption]


def begins_option(cursor: Cursor) -> bool:
    """Whether an option of a table comes next."""
    return bool(words_of_option(cursor, OPTIONS))


def begins_partition_option(cursor: Cursor) -> bool:
    """Whether an option comes next that a partition may have."""
    return words_of_option(cursor, OPTIONS) in PARTITION_OPTIONS


def words_of_option(cursor: Cursor, known: Mapping[str, Value]) -> str:
    """The one or two words of the option that comes next; empty where none does."""
    both = f"{cursor.word()} {cursor.word_after()}"
    return both if both in known else cursor.word() if cursor.word() in known else ""


def read_option(cursor: Cursor) -> TableOption:
    """One option with its value; raises SchemaError."""
    words = words_of_option(cursor, OPTIONS)
    if not words:
        unknown_option(cursor)
    cursor.expect(words)
    return OPTIONS[words](cursor, words)


def unknown_option(cursor: Cursor) -> NoReturn:
    """Raises SchemaError: something else comes next than an option."""
    cursor.unexpected("a table option (ENGINE, CHARSET, COLLATE, COMMENT, AUTO_INCREMENT, TTL, …) or PARTITION BY",
                      [words.split()[0] for words in OPTIONS])


PARTITION_OPTIONS: MappingProxyType[str, Value] = MappingProxyType({
    **dict.fromkeys(("COMMENT", "DATA DIRECTORY", "INDEX DIRECTORY", "SECONDARY_ENGINE_ATTRIBUTE"), text),
    **dict.fromkeys(("INSERT_METHOD", "ENGINE_ATTRIBUTE"), word),
    **dict.fromkeys(("MAX_ROWS", "MIN_ROWS", "NODEGROUP"), number),
    **dict.fromkeys(("ENGINE", "STORAGE ENGINE"), engine),
    "TABLESPACE": identifier,
    "PLACEMENT POLICY": placement,
})

OPTIONS: MappingProxyType[str, Value] = MappingProxyType({
    **PARTITION_OPTIONS,
    **dict.fromkeys((
        "AUTO_INCREMENT", "AUTO_ID_CACHE", "AUTO_RANDOM_BASE", "AVG_ROW_LENGTH", "CHECKSUM", "TABLE_CHECKSUM",
        "KEY_BLOCK_SIZE", "DELAY_KEY_WRITE", "STATS_BUCKETS", "STATS_TOPN", "SHARD_ROW_ID_BITS", "PRE_SPLIT_REGIONS",
        "PAGE_CHECKSUM", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "TRANSACTIONAL", "SEQUENCE",
    ), number),
    **dict.fromkeys(("STATS_PERSISTENT", "PACK_KEYS", "STATS_SAMPLE_PAGES"), number_or_default),
    **dict.fromkeys(("CONNECTION", "PASSWORD", "COMPRESSION", "STATS_COL_CHOICE", "STATS_COL_LIST"), text),
    **dict.fromkeys(("AUTOEXTEND_SIZE", "IETF_QUOTES", "AFFINITY"), word),
    **dict.fromkeys(("FORCE AUTO_INCREMENT", "FORCE AUTO_RANDOM_BASE"), forced),
    **dict.fromkeys((
        "CHARSET", "CHARACTER SET", "CHAR SET", "DEFAULT CHARSET", "DEFAULT CHARACTER", "DEFAULT CHAR",
    ), charset_option),
    **dict.fromkeys(("COLLATE", "DEFAULT COLLATE"), collate),
    **dict.fromkeys(("STORAGE DISK", "STORAGE MEMORY"), media),
    "STATS_AUTO_RECALC": zero_or_one,
    "STATS_SAMPLE_RATE": decimal,
    "ROW_FORMAT": row_format,
    "SECONDARY_ENGINE": secondary_engine,
    "UNION": union,
    "ENCRYPTION": encryption,
    "TTL": time_to_live,
    "TTL_ENABLE": on_or_off,
    "TTL_JOB_INTERVAL": duration,
})
