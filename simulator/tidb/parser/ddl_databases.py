"""Reads CREATE, ALTER and DROP DATABASE.

One law: OPTIONS lists the first words of a database's options; UNRESERVED are those that may also be its name.
"""

from __future__ import annotations

from simulator.tidb.model.charsets import charset, charset_of, collation
from simulator.tidb.parser.cursor import TiDBParser, position
from simulator.tidb.parser.ddl_names import location_labels, one_of
from simulator.tidb.restore.restoring import string
from simulator.tidb.syntax.statements import AlterDatabase, CreateDatabase, DropDatabase
from simulator.tidb.syntax.tables import TableOption

OPTIONS = ("DEFAULT", "CHARSET", "CHARACTER", "CHAR", "COLLATE", "ENCRYPTION", "PLACEMENT", "SET", "READ")
UNRESERVED = ("CHARSET", "ENCRYPTION", "PLACEMENT")


def create_database(parser: TiDBParser) -> CreateDatabase:
    if_not_exists = parser.accept("IF NOT EXISTS")
    return CreateDatabase(parser.free_name("the name of a database"), database_options(parser), if_not_exists)


def alter_database(parser: TiDBParser) -> AlterDatabase:
    word = parser.word()
    unnamed = word in OPTIONS and (word not in UNRESERVED or parser.word_after() not in OPTIONS)
    name = "" if unnamed else parser.free_name("the name of a database")
    if parser.at_end():
        parser.unexpected(f"an option of a database: {', '.join(OPTIONS)}")
    return AlterDatabase(name, database_options(parser))


def drop_database(parser: TiDBParser) -> DropDatabase:
    if_exists = parser.accept("IF EXISTS")
    return DropDatabase(parser.free_name("the name of a database"), if_exists)


def database_options(parser: TiDBParser) -> tuple[TableOption, ...]:
    options = []
    while not parser.at_end():
        options.append(database_option(parser))
    return tuple(options)


def database_option(parser: TiDBParser) -> TableOption:
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY, TIFLASH REPLICA (its value as TiDB writes it) or READ ONLY."""
    if parser.accept("SET TIFLASH REPLICA"):
        return TableOption("TIFLASH REPLICA", tiflash_replica(parser))
    if parser.accept("READ ONLY"):
        return TableOption("READ ONLY", one_of(parser, ("0", "1", "DEFAULT")))
    parser.accept("DEFAULT")
    if parser.accept("CHARSET") or parser.accept("CHARACTER SET") or parser.accept("CHAR SET"):
        parser.accept("=")
        return TableOption("CHARSET", charset_name(parser))
    if parser.accept("COLLATE"):
        parser.accept("=")
        return TableOption("COLLATE", collation_name(parser))
    if parser.accept("ENCRYPTION"):
        parser.accept("=")
        return TableOption("ENCRYPTION", encryption(parser), quoted=True)
    if parser.accept("PLACEMENT POLICY"):
        return placement_option(parser)
    parser.unexpected(f"an option of a database: {', '.join(OPTIONS)}", OPTIONS)


def tiflash_replica(parser: TiDBParser) -> str:
    count = parser.integer("the number of replicas")
    labels = location_labels(parser)
    return f"{count} LOCATION LABELS {', '.join(map(string, labels))}" if labels else str(count)


def charset_name(parser: TiDBParser) -> str:
    """A character set that TiDB has, as TiDB keeps its name."""
    where = position(parser.sql, parser.next_token().start)
    return charset(parser.name_or_string("a character set"), where)


def collation_name(parser: TiDBParser) -> str:
    """A collation of a character set that TiDB has, as TiDB keeps its name."""
    where = position(parser.sql, parser.next_token().start)
    name = parser.name_or_string("a collation")
    charset_of(name, where)
    return collation(name)


def encryption(parser: TiDBParser) -> str:
    """'Y' or 'N' in either case."""
    token = parser.next_token()
    value = parser.string("'Y' or 'N'")
    if value not in ("Y", "y", "N", "n"):
        parser.fail(f"{value!r} is not expected here. Accepted: 'Y' or 'N'", token)
    return value


def placement_option(parser: TiDBParser) -> TableOption:
    """What follows PLACEMENT POLICY: a policy, DEFAULT or SET DEFAULT."""
    if parser.accept("SET"):
        parser.expect("DEFAULT")
        return TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    parser.accept("=")
    if parser.accept("DEFAULT"):
        return TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    return TableOption("PLACEMENT POLICY", parser.name_or_string("a placement policy"))
