"""Tables of every column type, and rows of them, for hypothesis: hostile names, bytes, numbers and texts.

What is made is what TiDB can hold, and TiDB text as it prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table, visible_columns

Value = str | bytes
Values = dict[str, "Value | None"]
"""TiDB text by visible column; bytes in binary columns, and in others where they are not UTF-8."""

WORDS = r"""\ " ' ` a"b\c <&> null NULL \x41 \u0041 0 😀中é""".split()
SIGNS = ("", ", ", "~\xff", "\ufffd", "\u2028\u2029", "\t\r\n\v\a", "\b\f\x00\x01\x1f\x7f\x80\x9f")
INVISIBLE = ("\ufeff\u200b\u00ad\u00a0\u3000", "\ue000\U000e0001\U0001fae8")
HOSTILE = (*WORDS, *SIGNS, *INVISIBLE)
NO_UTF8 = "636166e9 fffe00 eda080 edb280 e280 f4908080 c08078 c328 80bf e280a8f09f98 c2c2a0".split()
RAW = (*map(bytes.fromhex, NO_UTF8), bytes(range(256)))
NAMES = (*"a Z t v f h u p d \\ \\n ` <&> é 中文 😀 _tidb old null A.b 1 $ '".split(), 'a"b', "x y", "\u2028", "\x7f")
MEMBERS = ("a", "B", 'b"c', "\\", "'", "<x>", "é", "x y", "null", "0", "\u2028", "😀")

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(HOSTILE)
blobs = st.binary(max_size=10) | st.sampled_from(RAW) | texts.map(str.encode)
strings: SearchStrategy[Value] = texts | texts | st.sampled_from(RAW)
documents = st.recursive(
    st.sampled_from(["null", "true", "1", "-0.5", '"null"', '"\\"<&>\\\\"', '"é\\u0001"']),
    lambda values: st.lists(values, max_size=2).map(lambda parts: f"[{', '.join(parts)}]"),
    max_leaves=4,
)


def integers(bits: int, signed: bool) -> SearchStrategy[Value]:
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    middle = [number for number in (0, 1, -1, high >> 1, (high >> 1) + 1) if low <= number <= high]
    return (st.sampled_from([low, high, *middle]) | st.integers(low, high)).map(str)


def floats(width: int) -> SearchStrategy[Value]:
    odd = ["0", "-0", "1e20", "1e21", "1e-6", "9.99e-7", "1e-7", "1e-10", "100", "3.14", "16777216", "123456789012"]
    widest = ["5e-324", "1.7976931348623157e+308", "123456789012345680"] if width == 64 else ["3.4028235e+38", "1e-45"]
    drawn = st.floats(allow_nan=False, allow_infinity=False, width=32 if width == 32 else 64)
    return drawn.map(repr) | st.sampled_from(odd + widest)


def decimals(digits: int, scale: int, signed: bool = True) -> SearchStrategy[Value]:
    most = 10**digits - 1

    def printed(number: int) -> str:
        text = str(abs(number)).rjust(scale + 1, "0")
        whole, part = (text[:-scale], "." + text[-scale:]) if scale else (text, "")
        return ("-" if number < 0 else "") + whole + part

    return (st.integers(-most if signed else 0, most) | st.sampled_from([0, most])).map(printed)


def fraction(digits: int) -> SearchStrategy[str]:
    return st.integers(0, 10**digits - 1).map(lambda fraction: f".{fraction:0{digits}}" if digits else "")


dates: SearchStrategy[Value] = st.dates().map(str) | st.sampled_from(["0000-00-00", "9999-12-31", "2020-02-00"])
clock = st.tuples(st.integers(0, 59), st.integers(0, 59)).map(lambda minute: f"{minute[0]:02}:{minute[1]:02}")


def moments(digits: int) -> SearchStrategy[Value]:
    hours = st.integers(0, 23).map(lambda hour: f"{hour:02}")
    drawn = st.tuples(dates, hours, clock, fraction(digits))
    return drawn.map(lambda moment: f"{moment[0]!s} {moment[1]}:{moment[2]}{moment[3]}")


def times(digits: int) -> SearchStrategy[Value]:
    drawn = st.tuples(st.sampled_from(["", "-"]), st.integers(0, 837), clock, fraction(digits))
    return drawn.map(lambda time: f"{time[0]}{time[1]:02}:{time[2]}{time[3]}")


def vectors(size: int) -> SearchStrategy[Value]:
    numbers = st.sampled_from(["0", "1", "-2.5", "0.1", "3e+38"])
    return st.lists(numbers, min_size=size, max_size=size).map(lambda vector: f"[{','.join(vector)}]")


@dataclass(frozen=True)
class Kind:
    """A column type as it is declared, and its values."""

    declared: str
    values: SearchStrategy[Value]
    keyed: bool = True
    """Whether it may be in a key."""

    binary: bool = False


def escaped(member: str) -> str:
    return "'" + member.replace("\\", "\\\\").replace("'", "''") + "'"


def listed(kind: str, members: Sequence[str]) -> Kind:
    names = ", ".join(map(escaped, members))
    one: SearchStrategy[Value] = st.sampled_from(["", *members])
    some = st.sets(st.sampled_from(members)).map(lambda chosen: ",".join(sorted(chosen, key=members.index)))
    return Kind(f"{kind.upper()}({names})", one if kind == "enum" else some)


INTEGERS = [
    Kind(f"{name}{sign}", integers(bits, signed))
    for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64))
    for sign, signed in (("", True), (" UNSIGNED", False), ("(3) ZEROFILL", False))
]
KINDS = [
    *INTEGERS,
    Kind("BOOL", integers(8, True)),
    Kind("FLOAT", floats(32)),
    Kind("FLOAT UNSIGNED", floats(32)),
    Kind("DOUBLE", floats(64)),
    Kind("DECIMAL", decimals(10, 0)),
    Kind("DECIMAL(65,30)", decimals(65, 30)),
    Kind("DECIMAL(4,4)", decimals(4, 4)),
    Kind("DECIMAL(8,2) UNSIGNED ZEROFILL", decimals(8, 2, False)),
    Kind("BIT", integers(1, False)),
    Kind("BIT(64)", integers(64, False)),
    Kind("YEAR", st.integers(1901, 2155).map(str) | st.just("0")),
    Kind("DATE", dates),
    *(Kind(f"TIME({digits})", times(digits)) for digits in (0, 3, 6)),
    *(Kind(f"DATETIME({digits})", moments(digits)) for digits in (0, 3, 6)),
    Kind("TIMESTAMP(2)", moments(2)),
    Kind("CHAR(200)", strings),
    Kind("VARCHAR(200)", strings),
    Kind("VARCHAR(200) CHARACTER SET gbk", texts),
    Kind("VARCHAR(300) CHARACTER SET latin1", texts),
    Kind("BINARY(200)", blobs, binary=True),
    Kind("VARBINARY(300)", blobs, binary=True),
    Kind("VARCHAR(300) CHARACTER SET binary", blobs, binary=True),
    *(Kind(f"{size}TEXT", strings, keyed=False) for size in ("TINY", "", "MEDIUM", "LONG")),
    *(Kind(f"{size}BLOB", blobs, keyed=False, binary=True) for size in ("TINY", "", "MEDIUM", "LONG")),
    listed("enum", MEMBERS),
    listed("set", MEMBERS),
    listed("set", [f"m{number}" for number in range(64)]),
    Kind("JSON", documents, keyed=False),
    Kind("VECTOR", vectors(2), keyed=False),
    Kind("VECTOR(3)", vectors(3), keyed=False),
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class RandomTable:
    """A table and the values its rows may have."""

    table: Table
    values: dict[str, SearchStrategy[Value | None]]
    binary: frozenset[str]
    partition: int | None


@st.composite
def tables(draw: DrawFn) -> RandomTable:
    """A table of one to nine columns, with keys of every sort or none."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=9, unique_by=str.lower))
    chosen = [draw(st.sampled_from(KINDS)) for _ in names]
    needed = [draw(st.booleans()) for _ in names]
    generated = [draw(st.sampled_from(["", "", "", "", "STORED", "VIRTUAL"])) for _ in names]
    generated[0] = ""
    columns = [
        f"{quoted(name)} {kind.declared}"
        + (f" AS ({quoted(names[0])}) {made}" if made else "")
        + (" NOT NULL" if needs else "")
        for name, kind, needs, made in zip(names, chosen, needed, generated, strict=True)
    ]
    keyed = [name for name, kind in zip(names, chosen, strict=True) if kind.keyed]
    stored = [name for name in keyed if not generated[names.index(name)]]
    keys = draw(_keys(keyed, stored))
    schema, name = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
    table = create_table(f"CREATE TABLE {quoted(schema)}.{quoted(name)} ({', '.join([*columns, *keys])})")
    kinds = dict(zip(names, chosen, strict=True))
    values: dict[str, SearchStrategy[Value | None]] = {
        column.name: kinds[column.name].values if column.not_null else st.none() | kinds[column.name].values
        for column in visible_columns(table)
    }
    binary = frozenset(name for name in values if kinds[name].binary)
    return RandomTable(table, values, binary, draw(st.none() | st.integers(0, 9)))


@st.composite
def numbered_tables(draw: DrawFn) -> RandomTable:
    """A table with an integer primary key `id`, and columns that may be of any type."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique_by=str.lower))
    chosen = {name: draw(st.sampled_from(KINDS)) for name in names}
    columns = [f"{quoted(name)} {kind.declared}" for name, kind in chosen.items()]
    table = create_table(f"CREATE TABLE `shop`.`t` (`id` INT PRIMARY KEY, {', '.join(columns)})")
    values = {name: st.none() | kind.values for name, kind in chosen.items()}
    return RandomTable(table, values, frozenset(name for name in names if chosen[name].binary), None)


@st.composite
def _keys(draw: DrawFn, keyed: list[str], stored: list[str]) -> list[str]:
    made: list[str] = []
    if len(stored) > 0 and draw(st.booleans()):
        parts = draw(st.lists(st.sampled_from(stored), min_size=1, max_size=2, unique=True))
        made.append(f"PRIMARY KEY ({', '.join(map(quoted, parts))}) {draw(st.sampled_from(['', 'NONCLUSTERED']))}")
    for number in range(draw(st.integers(0, 2)) if keyed else 0):
        parts = draw(st.lists(st.sampled_from(keyed), min_size=1, max_size=3, unique=True))
        kind = draw(st.sampled_from(["UNIQUE KEY", "UNIQUE KEY", "KEY"]))
        made.append(f"{kind} `k{number}` ({', '.join(map(quoted, parts))})")
    return made


Change = tuple["Values | None", "Values | None"]


@st.composite
def changes(draw: DrawFn, made: RandomTable, most: int = 4) -> list[Change]:
    """Changes of rows of the table; an UPDATE leaves some columns as they are."""
    return draw(st.lists(_change(made), min_size=1, max_size=most))


@st.composite
def _change(draw: DrawFn, made: RandomTable) -> Change:
    rows = st.fixed_dictionaries(dict(made.values))
    old = draw(rows)
    kind = draw(st.sampled_from(["INSERT", "DELETE", "UPDATE", "UPDATE"]))
    if kind != "UPDATE":
        return (None, old) if kind == "INSERT" else (old, None)
    new = {name: draw(made.values[name]) if draw(st.booleans()) else value for name, value in old.items()}
    return old, new
