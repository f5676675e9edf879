"""Reads the statements on databases and on whole tables.

One law: each begins behind the words that name it.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.clauses import (
    charset_name,
    collation_name,
    location_labels,
    read_setting,
    restrict_or_cascade,
)
from simulator.tidb.parser.create_table import read_create_table
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.restore.names import string

DATABASE_OPTIONS = ("DEFAULT", "CHARSET", "CHARACTER", "CHAR", "COLLATE", "ENCRYPTION", "PLACEMENT", "SET", "READ")
UNRESERVED_OPTIONS = ("CHARSET", "ENCRYPTION", "PLACEMENT")


# -- databases ----------------------------------------------------------------------------------------------------


def create_database(cursor: Cursor) -> syntax.CreateDatabase:
    if_not_exists = cursor.accept("IF NOT EXISTS")
    return syntax.CreateDatabase(cursor.name("the name of a database"), database_options(cursor), if_not_exists)


def alter_database(cursor: Cursor) -> syntax.AlterDatabase:
    word, after = cursor.word(), cursor.word_after()
    unnamed = word in DATABASE_OPTIONS and (word not in UNRESERVED_OPTIONS or after not in DATABASE_OPTIONS)
    name = "" if unnamed else cursor.name("the name of a database")
    if cursor.at_end():
        cursor.unexpected(f"an option of a database: {', '.join(DATABASE_OPTIONS)}")
    return syntax.AlterDatabase(name, database_options(cursor))


def drop_database(cursor: Cursor) -> syntax.DropDatabase:
    if_exists = cursor.accept("IF EXISTS")
    return syntax.DropDatabase(cursor.name("the name of a database"), if_exists)


def database_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    options = []
    while not cursor.at_end():
        options.append(database_option(cursor))
    return tuple(options)


def database_option(cursor: Cursor) -> syntax.TableOption:
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY, TIFLASH REPLICA (its value as TiDB writes it) or READ ONLY."""
    if cursor.accept("SET TIFLASH REPLICA"):
        return syntax.TableOption("TIFLASH REPLICA", tiflash_replica(cursor))
    if cursor.accept("READ ONLY"):
        return syntax.TableOption("READ ONLY", read_setting(cursor, ("0", "1", "DEFAULT")))
    cursor.accept("DEFAULT")
    if cursor.accept("CHARSET") or cursor.accept("CHARACTER SET") or cursor.accept("CHAR SET"):
        cursor.accept("=")
        return syntax.TableOption("CHARSET", charset_name(cursor))
    if cursor.accept("COLLATE"):
        cursor.accept("=")
        return syntax.TableOption("COLLATE", collation_name(cursor))
    if cursor.accept("ENCRYPTION"):
        cursor.accept("=")
        return syntax.TableOption("ENCRYPTION", encryption(cursor), quoted=True)
    if cursor.accept("PLACEMENT POLICY"):
        return placement_option(cursor)
    cursor.unexpected(f"an option of a database: {', '.join(DATABASE_OPTIONS)}", DATABASE_OPTIONS)


def tiflash_replica(cursor: Cursor) -> str:
    count = cursor.integer("the number of replicas")
    labels = location_labels(cursor)
    return f"{count} LOCATION LABELS {', '.join(map(string, labels))}" if labels else str(count)


def encryption(cursor: Cursor) -> str:
    """'Y' or 'N' in either case."""
    token = cursor.next_token()
    value = cursor.string("'Y' or 'N'")
    if value not in ("Y", "y", "N", "n"):
        cursor.fail(f"{value!r} is not expected here. Accepted: 'Y' or 'N'", token)
    return value


def placement_option(cursor: Cursor) -> syntax.TableOption:
    """What follows PLACEMENT POLICY: a policy, DEFAULT or SET DEFAULT."""
    if cursor.accept("SET"):
        cursor.expect("DEFAULT")
        return syntax.TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    cursor.accept("=")
    if cursor.accept("DEFAULT"):
        return syntax.TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    return syntax.TableOption("PLACEMENT POLICY", cursor.name_or_string("a placement policy"))


# -- tables -------------------------------------------------------------------------------------------------------


def drop_table(cursor: Cursor, temporary: str = "") -> syntax.DropTable:
    if_exists = cursor.accept("IF EXISTS")
    tables = cursor.listed(Cursor.qualified_name)
    return syntax.DropTable(tables, if_exists, temporary, restrict_or_cascade(cursor))


def truncate_table(cursor: Cursor) -> syntax.TruncateTable:
    cursor.accept("TABLE")
    return syntax.TruncateTable(cursor.qualified_name())


def rename_table(cursor: Cursor) -> syntax.RenameTable:
    return syntax.RenameTable(cursor.listed(pair))


def pair(cursor: Cursor) -> tuple[syntax.TableName, syntax.TableName]:
    """`old TO new`"""
    old = cursor.qualified_name()
    cursor.expect("TO")
    return old, cursor.qualified_name()


def repair_table(cursor: Cursor) -> syntax.RepairTable:
    return syntax.RepairTable(cursor.qualified_name(), read_create_table(cursor))


# -- RECOVER and FLASHBACK ----------------------------------------------------------------------------------------


Flashback = syntax.FlashbackTable | syntax.FlashbackDatabase | syntax.FlashbackCluster


def recover_table(cursor: Cursor) -> syntax.RecoverTable:
    """What follows RECOVER TABLE: BY JOB n, or a table and which of its drops."""
    if cursor.accept("BY"):
        cursor.expect("JOB")
        return syntax.RecoverTable(None, job=cursor.integer("the number of a job"))
    table = cursor.qualified_name()
    return syntax.RecoverTable(table, number=0 if cursor.at_end() else cursor.integer())


def flashback(cursor: Cursor) -> Flashback:
    """What follows FLASHBACK."""
    if cursor.accept("CLUSTER"):
        timestamp, tso = moment(cursor)
        return syntax.FlashbackCluster(timestamp, tso)
    if cursor.accept("TABLE"):
        return flashback_table(cursor)
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        return flashback_database(cursor)
    cursor.unexpected("TABLE, DATABASE or CLUSTER", ("TABLE", "DATABASE", "SCHEMA", "CLUSTER"))


def flashback_table(cursor: Cursor) -> syntax.FlashbackTable | syntax.FlashbackCluster:
    tables = cursor.listed(Cursor.qualified_name)
    if len(tables) > 1 or goes_to_moment(cursor):
        timestamp, tso = moment(cursor)
        return syntax.FlashbackCluster(timestamp, tso, tables)
    return syntax.FlashbackTable(tables[0], new_name(cursor))


def flashback_database(cursor: Cursor) -> syntax.FlashbackDatabase | syntax.FlashbackCluster:
    database = cursor.name("the name of a database")
    if goes_to_moment(cursor):
        timestamp, tso = moment(cursor)
        return syntax.FlashbackCluster(timestamp, tso, database=database)
    return syntax.FlashbackDatabase(database, new_name(cursor))


def goes_to_moment(cursor: Cursor) -> bool:
    return cursor.word() == "TO" and cursor.word_after() in ("TIMESTAMP", "TSO") and not cursor.is_last(1)


def new_name(cursor: Cursor) -> str:
    return cursor.name("a new name") if cursor.accept("TO") else ""


def moment(cursor: Cursor) -> tuple[str, int]:
    """`TO TIMESTAMP '…'` or `TO TSO n`: the text, and the number."""
    cursor.expect("TO")
    if cursor.accept("TIMESTAMP"):
        return cursor.string("a timestamp between quotes"), 0
    cursor.expect("TSO")
    token = cursor.next_token()
    tso = cursor.integer("a TSO")
    if tso == 0:
        cursor.fail("a TSO of 0 is no moment", token)
    return "", tso


# -- locks --------------------------------------------------------------------------------------------------------


def lock_tables(cursor: Cursor) -> syntax.LockTables:
    return syntax.LockTables(cursor.listed(lock))


def lock(cursor: Cursor) -> tuple[syntax.TableName, str]:
    """`table READ [LOCAL]` or `table WRITE [LOCAL]`"""
    table = cursor.qualified_name()
    if cursor.word() not in ("READ", "WRITE"):
        cursor.unexpected("READ or WRITE", ("READ", "WRITE"))
    kind = cursor.take()
    return table, f"{kind} LOCAL" if cursor.accept("LOCAL") else kind


def unlock_tables(cursor: Cursor) -> syntax.UnlockTables:
    return syntax.UnlockTables()


def cleanup_locks(cursor: Cursor) -> syntax.UnlockTables:
    return syntax.UnlockTables(cursor.listed(Cursor.qualified_name))
