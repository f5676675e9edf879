"""Reads the values of the options of a table and of a partition.

One law: each function reads what follows an option's words, and `name` is those words.
"""

from __future__ import annotations

from simulator.tidb.model.charsets import charset, charset_of, collation
from simulator.tidb.parser.cursor import TiDBParser, position
from simulator.tidb.parser.units import read_unit
from simulator.tidb.parser.values import (
    begins_literal,
    read_count,
    read_literal,
    read_number,
    read_one_of,
    read_plain_string,
)
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.tables import TableOption

ROW_FORMATS = (
    "DEFAULT", "DYNAMIC", "FIXED", "COMPRESSED", "REDUNDANT", "COMPACT", "TOKUDB_DEFAULT", "TOKUDB_FAST",
    "TOKUDB_SMALL", "TOKUDB_ZLIB", "TOKUDB_ZSTD", "TOKUDB_QUICKLZ", "TOKUDB_LZMA", "TOKUDB_SNAPPY",
    "TOKUDB_UNCOMPRESSED",
)


def number(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, str(read_count(parser)))


def number_or_default(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    if parser.accept("DEFAULT"):
        return TableOption(name, "DEFAULT", default=True)
    return TableOption(name, str(read_count(parser, "a whole number or DEFAULT")))


def zero_or_one(parser: TiDBParser, name: str) -> TableOption:
    """A switch, or DEFAULT."""
    token = parser.next_token()
    option = number_or_default(parser, name)
    if option.value not in ("0", "1", "DEFAULT"):
        parser.fail(f"{name} {option.value} is not possible; accepted: 0, 1, DEFAULT", token)
    return option


def decimal(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, read_number(parser))


def text(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, read_plain_string(parser), quoted=True)


def word(parser: TiDBParser, name: str) -> TableOption:
    """A word or a string."""
    parser.accept("=")
    if parser.kind() == "string":
        return TableOption(name, read_plain_string(parser), quoted=True)
    return TableOption(name, parser.free_name("a word or a string"))


def identifier(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, parser.free_name("a name"))


def engine(parser: TiDBParser, _: str) -> TableOption:
    """`ENGINE = x`, `STORAGE ENGINE = x`"""
    return word(parser, "ENGINE")


def forced(parser: TiDBParser, name: str) -> TableOption:
    """`FORCE AUTO_INCREMENT = 5`"""
    parser.accept("=")
    return TableOption(name.removeprefix("FORCE "), str(read_count(parser)), force=True)


def charset_option(parser: TiDBParser, name: str) -> TableOption:
    """`[DEFAULT] CHARSET = x`, `[DEFAULT] CHARACTER SET = x`; the value as TiDB keeps it."""
    if name in ("DEFAULT CHARACTER", "DEFAULT CHAR"):
        parser.expect("SET")
    parser.accept("=")
    where = position(parser.sql, parser.next_token().start)
    return TableOption("CHARSET", charset(parser.name_or_string("a character set"), where))


def collate(parser: TiDBParser, _: str) -> TableOption:
    parser.accept("=")
    where = position(parser.sql, parser.next_token().start)
    name = parser.name_or_string("a collation")
    charset_of(name, where)
    return TableOption("COLLATE", collation(name))


def row_format(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, read_one_of(parser, ROW_FORMATS))


def media(_: TiDBParser, name: str) -> TableOption:
    """`STORAGE DISK`, `STORAGE MEMORY`"""
    return TableOption("STORAGE", name.split()[1])


def secondary_engine(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    return TableOption(name, "NULL", default=True) if parser.accept("NULL") else word(parser, name)


def union(parser: TiDBParser, name: str) -> TableOption:
    """`(a, d.b)`, kept as TiDB writes it back."""
    parser.accept("=")
    if parser.accept("( )"):
        return TableOption(name, "()")
    tables = parser.comma_separated(lambda cursor: cursor.qualified_free_name("a table"))
    return TableOption(name, f"({','.join('.'.join(quoted(part) for part in table if part) for table in tables)})")


def encryption(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    token, value = parser.next_token(), read_plain_string(parser)
    if value not in ("Y", "y", "N", "n"):
        parser.fail(f"ENCRYPTION {value!r} is not possible; accepted: 'Y', 'N'", token)
    return TableOption(name, value, quoted=True)


def placement(parser: TiDBParser, name: str) -> TableOption:
    """`PLACEMENT POLICY [=] p`, `[=] DEFAULT` or `SET DEFAULT`"""
    if not parser.accept("SET"):
        parser.accept("=")
        if parser.word() != "DEFAULT":
            return word(parser, name)
    default = parser.written()
    parser.expect("DEFAULT")
    return TableOption(name, default, default=True)


def time_to_live(parser: TiDBParser, name: str) -> TableOption:
    """``TTL = `column` + INTERVAL 3 MONTH``, kept as TiDB writes it back."""
    parser.accept("=")
    column = parser.free_name("a column")
    parser.expect("+")
    parser.expect("INTERVAL")
    if not begins_literal(parser):
        parser.unexpected("an amount")
    amount = read_literal(parser).restored
    return TableOption(name, f"{quoted(column)} + INTERVAL {amount} {read_unit(parser).text}")


def on_or_off(parser: TiDBParser, name: str) -> TableOption:
    parser.accept("=")
    token, value = parser.next_token(), read_plain_string(parser).upper()
    if value not in ("ON", "OFF"):
        parser.fail(f"{name} {value!r} is not possible; accepted: 'ON', 'OFF'", token)
    return TableOption(name, value, quoted=True)


def duration(parser: TiDBParser, name: str) -> TableOption:
    """Days, hours and minutes: `1d12h`, `90m`"""
    parser.accept("=")
    token, value = parser.next_token(), read_plain_string(parser)
    parts = value.replace("d", "d ").replace("h", "h ").replace("m", "m ").split(" ")
    if parts.pop() or not parts or not all(part[:-1].replace(".", "", 1).isdecimal() for part in parts):
        parser.fail(f"{name} {value!r} is no duration; accepted: days, hours and minutes, as in '1d12h30m'", token)
    return TableOption(name, value, quoted=True)
