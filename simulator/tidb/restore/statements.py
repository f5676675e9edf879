"""Writes the statements on whole tables: DROP, TRUNCATE, RENAME, RECOVER, FLASHBACK, REPAIR, LOCK.

One law: RESTRICT and CASCADE are forgotten, as TiDB forgets them.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.restore.names import table, tables, words
from simulator.tidb.restore.restoring import literal, quoted
from simulator.tidb.restore.tables import restored_table
from simulator.tidb.syntax.statements import (
    DropTable,
    FlashbackCluster,
    FlashbackTable,
    LockTables,
    RecoverTable,
    RenameTable,
    RepairTable,
    TruncateTable,
    UnlockTables,
)

TEMPORARY = MappingProxyType({"": "", "local": "TEMPORARY", "global": "GLOBAL TEMPORARY"})


def drop_table(statement: DropTable) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return words("DROP", TEMPORARY[statement.temporary], "TABLE", exists, tables(statement.tables))


def truncate_table(statement: TruncateTable) -> str:
    return f"TRUNCATE TABLE {table(statement.table)}"


def rename_table(statement: RenameTable) -> str:
    return "RENAME TABLE " + ", ".join(f"{table(old)} TO {table(new)}" for old, new in statement.pairs)


def recover_table(statement: RecoverTable) -> str:
    if statement.table is None:
        return f"RECOVER TABLE BY JOB {statement.job}"
    return words("RECOVER TABLE", table(statement.table), str(statement.number) if statement.number else "")


def flashback_table(statement: FlashbackTable) -> str:
    to = f"TO {quoted(statement.new_name)}" if statement.new_name else ""
    return words("FLASHBACK TABLE", table(statement.table), to)


def flashback_cluster(statement: FlashbackCluster) -> str:
    what = "CLUSTER"
    if statement.tables:
        what = f"TABLE {tables(statement.tables)}"
    elif statement.database:
        what = f"DATABASE {quoted(statement.database)}"
    moment = f"TSO {statement.tso}" if statement.tso else f"TIMESTAMP {literal(statement.timestamp)}"
    return f"FLASHBACK {what} TO {moment}"


def repair_table(statement: RepairTable) -> str:
    return f"ADMIN REPAIR TABLE {table(statement.table)} {restored_table(statement.definition)}"


def lock_tables(statement: LockTables) -> str:
    return "LOCK TABLES " + ", ".join(f"{table(name)} {kind}" for name, kind in statement.locks)


def unlock_tables(statement: UnlockTables) -> str:
    return f"ADMIN CLEANUP TABLE LOCK {tables(statement.tables)}" if statement.tables else "UNLOCK TABLES"
