"""A database with every kind of table that a changefeed meets, in two states."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import cycle

from simulator.consumer.decode import Image
from support.databases import Row, Table
from support.dumps import Value

KEY = "PRIMARY KEY ({}) /*T![clustered_index] CLUSTERED */"

TYPES: dict[str, tuple[Value, Value, Value]] = {
    "tinyint": (1, -128, 127),
    "tinyint(1)": (1, 0, 1),
    "tinyint unsigned": (1, 0, 255),
    "smallint": (1, -32768, 32767),
    "smallint unsigned": (1, 0, 65535),
    "mediumint": (1, -8388608, 8388607),
    "mediumint unsigned": (1, 0, 16777215),
    "int": (1, -2147483648, 2147483647),
    "int(8) unsigned zerofill": (1, 0, 4294967295),
    "bigint": (1, -(2**63), 2**63 - 1),
    "bigint unsigned": (1, 0, 2**64 - 1),
    "float": ("1.5", "-3.4028235e38", "1e-45"),
    "double": ("0.1", "-1.7976931348623157e308", "5e-324"),
    "decimal(10,0)": ("1", "-9999999999", "9999999999"),
    "decimal(20,5) unsigned": ("1.50000", "0.00000", "999999999999999.99999"),
    "decimal(65,30)": ("1." + "0" * 30, "-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"),
    "bit(1)": (b"\x01", b"\x00", b"\x01"),
    "bit(10)": (b"\x00\x01", b"\x00\x00", b"\x03\xff"),
    "bit(64)": (b"\0\0\0\0\0\0\0\1", b"\0" * 8, b"\xff" * 8),
    "year": (2020, 1901, 2155),
    "date": ("2020-02-20", "0001-01-01", "9999-12-31"),
    "time": ("10:20:30", "-838:59:59", "838:59:59"),
    "time(6)": ("10:20:30.123456", "-00:00:00.000001", "838:59:58.999999"),
    "datetime": ("2020-02-20 02:20:20", "0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    "datetime(3)": ("2020-02-20 02:20:20.120", "0001-01-01 00:00:00.000", "9999-12-31 23:59:59.999"),
    "timestamp": ("2020-02-20 02:20:20", "1970-01-01 00:00:01", "2038-01-19 03:14:07"),
    "timestamp(6)": ("2020-02-20 02:20:20.123456", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999"),
    "char(10)": ("a", "", "😀" * 10),
    "char(10) charset latin1": ("a", "", "z z"),
    "varchar(40)": ("a", "", "  é 数据 😀  "),
    "varchar(40) collate utf8mb4_general_ci": ("a", "", "ÄÖÜ"),
    "tinytext": ("a", "", "\\N"),
    "text": ("a", "", "line\nline\r\n\tend\\"),
    "mediumtext": ("a", "", "'\"`;,--/*"),
    "longtext": ("a", "", "\0\x1a\x7f\u2028<&>😀"),
    "binary(4)": (b"a\0\0\0", b"\0\0\0\0", b"\xff\xfe\x80\n"),
    "varbinary(20)": (b"a", b"", b"\xff\xfe\\\"'\n\r\0\x80,"),
    "tinyblob": (b"a", b"", b"\\N"),
    "blob": (b"a", b"", bytes(range(256))),
    "mediumblob": (b"a", b"", b"\xf0\x9f\x98\x80"),
    "longblob": (b"a", b"", b"\xc3\x28"),
    "enum('a','b,c','é ''x')": ("a", "b,c", "é 'x"),
    "set('a','b','é ''x')": ("a", "", "a,é 'x"),
    "json": ('{"a": 1}', "null", '{"a": [1, -2.5, "\\"😀\\\\\\n"], "é": {}}'),
    "vector(3)": ("[1,2,3]", "[0,0,0]", "[-1.5,0.1,10000000000]"),
}
"""Every type of TiDB: an ordinary value, a low or empty one, a high or hostile one, as a MySQL client prints them."""


def typed_row(key: int, *which: int | None) -> Row:
    """A row of the table of all types: which value of each type, the numbers given repeating; None is NULL."""
    values = zip(TYPES.values(), cycle(which))
    return [key, *(None if choice is None else three[choice] for three, choice in values)]


TYPED = Table(
    "CREATE TABLE `every type` (`id` int NOT NULL, "
    + "".join(f"`c{number} {name.partition('(')[0]}` {name}, " for number, name in enumerate(TYPES))
    + "`twice` int GENERATED ALWAYS AS (`id` * 2) VIRTUAL, "
    + KEY.format("`id`")
    + ")",
    [typed_row(1, 0), typed_row(2, 1), typed_row(3, 2), typed_row(4, None), typed_row(5, 0, 1, None), typed_row(6, 2)],
    [typed_row(1, 1), typed_row(2, 2), typed_row(3, None), typed_row(4, 0), typed_row(6, 2, None), typed_row(7, 1, 2)],
)

TEXTS = (
    "", "\\N", "NULL", "\\", "'", '"', "a\nb", "\r\n", "\t", "\0", "\x1a", "\x7f", "😀é数", " a ", "<&>\u2028", "%s{}",
)  # fmt: skip
HOSTILE = Table(
    "CREATE TABLE `Ta.ble 数-schema%2E` (`ID` int NOT NULL, `co``l '\"` varchar(40), `数 据` varbinary(40), `a.b` json, "
    f"{KEY.format('`ID`')})",
    [[key, text, text.encode(), None] for key, text in enumerate(TEXTS)],
    [[key, text * 2, None, '"x"'] for key, text in enumerate(reversed(TEXTS), 1)],
    "Shop. Ünï%2F数",
)

COMPOSITE = Table(
    f"CREATE TABLE `composite` (`note` varchar(9), `no` int NOT NULL, `region` varchar(9) NOT NULL, "
    f"{KEY.format('`region`,`no`')})",
    [["a", 1, "x"], ["b", 2, "x"], ["c", 1, "y"], ["d", 11, "x"], ["e", 1, "x1"], [None, 5, ""]],
    [["a", 1, "x"], ["B", 2, "x"], ["c", 2, "y"], ["d", 11, "x"], [None, 1, "x1"], [None, 6, ""]],
)
NONCLUSTERED = Table(
    "CREATE TABLE `nonclustered` (`code` char(3) NOT NULL, `n` bigint, "
    "PRIMARY KEY (`code`) /*T![clustered_index] NONCLUSTERED */)",
    [["a", 1], ["b", 2], ["c", 3]],
    [["a", 1], ["b", 20], ["d", 3]],
)
UNIQUE = Table(
    "CREATE TABLE `unique_only` (`a` int NOT NULL, `b` int NOT NULL, `c` int, UNIQUE KEY `ab` (`a`,`b`), "
    "UNIQUE KEY `nullable` (`c`))",
    [[1, 1, None], [1, 2, 3]],
    [[1, 1, 4], [2, 1, 3]],
)
KEYLESS = Table(
    "CREATE TABLE `keyless` (`a` int, `b` varchar(9), KEY `a` (`a`))",
    [[1, "x"], [1, "x"], [1, "x"], [2, None], [3, "gone"], [None, None], [None, None]],
    [[1, "x"], [1, "x"], [1, "x"], [1, "x"], [1, "x"], [2, None], [2, None], [None, None], [4, "new"]],
)
DROPPED = Table("CREATE TABLE `dropped` (`id` int PRIMARY KEY)", [[1], [2]], None)
CREATED = Table(
    "CREATE TABLE `created` (\n  `id` int PRIMARY KEY,\n  `n` int COMMENT 'a; b'\n)", None, [[1, 1], [2, 2]]
)
NEW_SCHEMA = Table("CREATE TABLE `parts` (`id` int PRIMARY KEY)", None, [[1]], "annex")
PASSING = (
    Table("CREATE TABLE `late` (`id` int PRIMARY KEY)", None, [[1]], "passing"),
    Table("CREATE TABLE `gone` (`id` int PRIMARY KEY)", [[1]], None, "passing"),
)
"""Tables of one state only, with a topic each."""

EMPTY = Table("CREATE TABLE `empty` (`id` int PRIMARY KEY)")
SECRET = Table("CREATE TABLE `secret` (`id` int PRIMARY KEY)", [[1]], [[2]], "vault")
IN_OLD_SCHEMAS = (
    Table("CREATE TABLE `open` (`id` int PRIMARY KEY)", None, [[1]], "vault"),
    Table("CREATE TABLE `first` (`id` int PRIMARY KEY)", None, [[1]], "bare"),
)
"""New tables of databases that were there: of one only a table that is not replicated, the other without any."""

SYSTEM = Table("CREATE TABLE `user` (`id` int PRIMARY KEY)", [[1]], [[2]], "mysql")
LEFT_OUT = (SECRET, SYSTEM)
"""Tables that the changefeed does not replicate."""

PARTITIONED = (
    Table(
        "CREATE TABLE `by_hash` (`id` int PRIMARY KEY, `n` int) PARTITION BY HASH (`id`) PARTITIONS 3",
        [[key, 0] for key in range(-6, 6)],
        [[key, key % 2] for key in range(-4, 9)],
    ),
    Table(
        "CREATE TABLE `by_range` (`id` int, `d` date, `n` int, PRIMARY KEY (`id`,`d`)) PARTITION BY RANGE (YEAR(`d`)) "
        "(PARTITION `p0` VALUES LESS THAN (2000), PARTITION `p1` VALUES LESS THAN (2020), "
        "PARTITION `p2` VALUES LESS THAN (MAXVALUE))",
        [[1, "1999-12-31", 1], [2, "2000-01-01", 1], [3, "2020-01-01", 1]],
        [[1, "2000-12-31", 1], [2, "2000-01-01", 2], [3, "2020-01-01", 3], [4, "1970-01-01", 4]],
    ),
    Table(
        "CREATE TABLE `by_list` (`id` int, `city` varchar(9), `n` int, PRIMARY KEY (`id`,`city`)) "
        "PARTITION BY LIST COLUMNS (`city`) "
        "(PARTITION `p0` VALUES IN ('a','b'), PARTITION `p1` VALUES IN ('c'), PARTITION `rest` DEFAULT)",
        [[1, "a", 1], [2, "b", 1], [3, "c", 1], [4, "z", 1]],
        [[1, "c", 1], [2, "b", 2], [3, "c", 2], [4, "z", 2]],
    ),
)

PLACE: dict[str, Callable[[Image], int]] = {
    "by_hash": lambda row: abs(int(str(row["id"]))) % 3,
    "by_range": lambda row: bisect(["2000", "2020"], str(row["d"])[:4]),
    "by_list": lambda row: {"a": 0, "b": 0, "c": 1}.get(str(row["city"]), 2),
}
"""In which partition of its table a row lies."""


def dispatched(name: str, schema: str = "shop") -> Table:
    """A table whose rows a dispatcher has reason to spread."""
    statement = (
        f"CREATE TABLE `{name}` (`id` int NOT NULL, `Email` varchar(20), `city` varchar(9), `n` int, "
        f"{KEY.format('`id`')}, UNIQUE KEY `uk` (`Email`))"
    )
    before = [[key, f"{key}@x" if key % 5 else None, f"city{key % 3}", 0] for key in range(20)]
    mails = {key: f"{key}@x" if key % 3 == 1 else f"{key}@y" if key % 4 else None for key in range(5, 25)}
    after = [[key, mail, f"city{key % 2}", key % 3] for key, mail in mails.items()]
    return Table(statement, before, after, schema)


DISPATCHED = tuple(
    dispatched(f"d_{name}") for name in ("default", "table", "index", "unique", "columns", "ts", "rowid", "last")
) + (dispatched("a b", "Ware House"), dispatched("é", "Ware House"))

TABLES = (
    TYPED,
    HOSTILE,
    COMPOSITE,
    NONCLUSTERED,
    UNIQUE,
    KEYLESS,
    EMPTY,
    DROPPED,
    CREATED,
    NEW_SCHEMA,
    *IN_OLD_SCHEMAS,
    *PASSING,
    *PARTITIONED,
    *DISPATCHED,
)
"""All that the changefeed replicates."""

CHANGEFEED = """\
force-replicate = true

[filter]
rules = ["*.*", "!vault.secret"]

[sink]
dispatchers = [
    { matcher = ["shop.d_table"], partition = "table" },
    { matcher = ["shop.d_index"], partition = "index-value" },
    { matcher = ["shop.d_unique"], partition = "index-value", index = "UK" },
    { matcher = ["shop.D_COLUMNS"], partition = "columns", columns = ["CITY", "n"] },
    { matcher = ["shop.d_ts"], partition = "ts" },
    { matcher = ["shop.d_rowid"], partition = "rowid" },
    { matcher = ["shop.d_default"], partition = "default", topic = "the-default" },
    { matcher = ["`Ware House`.*"], topic = "of_{schema}.{table}", partition = "index-value" },
    { matcher = ["shop.d_last"], partition = "dispatcher-of-the-future" },
    { matcher = ["passing.*"], topic = "of_{table}" },
    { matcher = ["*.*"], partition = "index-value", topic = "" },
]
"""
