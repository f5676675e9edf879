"""Reads CREATE, ALTER and DROP DATABASE.

One law: OPTIONS lists the first words of a database's options; UNRESERVED are those that may also be its name.
"""

from __future__ import annotations

from simulator.tidb.model.charsets import charset, charset_of, collation
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl_names import location_labels, one_of
from simulator.tidb.restore.names import string
from simulator.tidb.syntax.statements import AlterDatabase, CreateDatabase, DropDatabase
from simulator.tidb.syntax.tables import TableOption

OPTIONS = ("DEFAULT", "CHARSET", "CHARACTER", "CHAR", "COLLATE", "ENCRYPTION", "PLACEMENT", "SET", "READ")
UNRESERVED = ("CHARSET", "ENCRYPTION", "PLACEMENT")


def create_database(cursor: Cursor) -> CreateDatabase:
    if_not_exists = cursor.accept("IF NOT EXISTS")
    return CreateDatabase(cursor.name("the name of a database"), database_options(cursor), if_not_exists)


def alter_database(cursor: Cursor) -> AlterDatabase:
    word = cursor.word()
    unnamed = word in OPTIONS and (word not in UNRESERVED or cursor.word_after() not in OPTIONS)
    name = "" if unnamed else cursor.name("the name of a database")
    if cursor.at_end():
        cursor.unexpected(f"an option of a database: {', '.join(OPTIONS)}")
    return AlterDatabase(name, database_options(cursor))


def drop_database(cursor: Cursor) -> DropDatabase:
    if_exists = cursor.accept("IF EXISTS")
    return DropDatabase(cursor.name("the name of a database"), if_exists)


def database_options(cursor: Cursor) -> tuple[TableOption, ...]:
    options = []
    while not cursor.at_end():
        options.append(database_option(cursor))
    return tuple(options)


def database_option(cursor: Cursor) -> TableOption:
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY, TIFLASH REPLICA (its value as TiDB writes it) or READ ONLY."""
    if cursor.accept("SET TIFLASH REPLICA"):
        return TableOption("TIFLASH REPLICA", tiflash_replica(cursor))
    if cursor.accept("READ ONLY"):
        return TableOption("READ ONLY", one_of(cursor, ("0", "1", "DEFAULT")))
    cursor.accept("DEFAULT")
    if cursor.accept("CHARSET") or cursor.accept("CHARACTER SET") or cursor.accept("CHAR SET"):
        cursor.accept("=")
        return TableOption("CHARSET", charset_name(cursor))
    if cursor.accept("COLLATE"):
        cursor.accept("=")
        return TableOption("COLLATE", collation_name(cursor))
    if cursor.accept("ENCRYPTION"):
        cursor.accept("=")
        return TableOption("ENCRYPTION", encryption(cursor), quoted=True)
    if cursor.accept("PLACEMENT POLICY"):
        return placement_option(cursor)
    cursor.unexpected(f"an option of a database: {', '.join(OPTIONS)}", OPTIONS)


def tiflash_replica(cursor: Cursor) -> str:
    count = cursor.integer("the number of replicas")
    labels = location_labels(cursor)
    return f"{count} LOCATION LABELS {', '.join(map(string, labels))}" if labels else str(count)


def charset_name(cursor: Cursor) -> str:
    """A character set that TiDB has, as TiDB keeps its name."""
    where = position(cursor.sql, cursor.next_token().start)
    return charset(cursor.name_or_string("a character set"), where)


def collation_name(cursor: Cursor) -> str:
    """A collation of a character set that TiDB has, as TiDB keeps its name."""
    where = position(cursor.sql, cursor.next_token().start)
    name = cursor.name_or_string("a collation")
    charset_of(name, where)
    return collation(name)


def encryption(cursor: Cursor) -> str:
    """'Y' or 'N' in either case."""
    token = cursor.next_token()
    value = cursor.string("'Y' or 'N'")
    if value not in ("Y", "y", "N", "n"):
        cursor.fail(f"{value!r} is not expected here. Accepted: 'Y' or 'N'", token)
    return value


def placement_option(cursor: Cursor) -> TableOption:
    """What follows PLACEMENT POLICY: a policy, DEFAULT or SET DEFAULT."""
    if cursor.accept("SET"):
        cursor.expect("DEFAULT")
        return TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    cursor.accept("=")
    if cursor.accept("DEFAULT"):
        return TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    return TableOption("PLACEMENT POLICY", cursor.name_or_string("a placement policy"))
