"""Writes the statements on databases, on whole tables and on indexes.

One law: what TiDB forgets is not written: RESTRICT and CASCADE, LOCK and ALGORITHM that are the default.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.restore.definitions import restored_key_options, restored_part
from simulator.tidb.restore.names import feature, literal, quoted, string, table, tables, words
from simulator.tidb.restore.tables import TEMPORARY, restored_table


def create_database(statement: syntax.CreateDatabase) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    return words("CREATE DATABASE", exists, quoted(statement.name)) + database_options(statement.options)


def alter_database(statement: syntax.AlterDatabase) -> str:
    """Nothing for a statement of placement alone."""
    if is_placement(statement):
        return ""
    name = quoted(statement.name) if statement.name else ""
    return words("ALTER DATABASE", name) + database_options(statement.options)


def is_placement(statement: syntax.AlterDatabase) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in statement.options)


def alter_database_placement(statement: syntax.AlterDatabase) -> str:
    """A statement of placement alone, kept."""
    name = quoted(statement.name) if statement.name else ""
    policies = (f"PLACEMENT POLICY = {quoted(option.value)}" for option in statement.options)
    return words("ALTER DATABASE", name, *policies)


def database_options(options: tuple[syntax.TableOption, ...]) -> str:
    return "".join(f" {database_option(option)}" for option in options)


def database_option(option: syntax.TableOption) -> str:
    """PLACEMENT POLICY leaves nothing but the blank before it."""
    if option.name == "PLACEMENT POLICY":
        return ""
    if option.name == "TIFLASH REPLICA":
        return f"SET TIFLASH REPLICA {option.value}"
    name = "CHARACTER SET" if option.name == "CHARSET" else option.name
    return f"{name} = {string(option.value) if option.quoted else option.value}"


def drop_database(statement: syntax.DropDatabase) -> str:
    return words("DROP DATABASE", "IF EXISTS" if statement.if_exists else "", quoted(statement.name))


def flashback_database(statement: syntax.FlashbackDatabase) -> str:
    to = f"TO {quoted(statement.new_name)}" if statement.new_name else ""
    return words("FLASHBACK DATABASE", quoted(statement.name), to)


def drop_table(statement: syntax.DropTable) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return words("DROP", TEMPORARY[statement.temporary], "TABLE", exists, tables(statement.tables))


def truncate_table(statement: syntax.TruncateTable) -> str:
    return f"TRUNCATE TABLE {table(statement.table)}"


def rename_table(statement: syntax.RenameTable) -> str:
    return "RENAME TABLE " + ", ".join(f"{table(old)} TO {table(new)}" for old, new in statement.pairs)


def recover_table(statement: syntax.RecoverTable) -> str:
    if statement.table is None:
        return f"RECOVER TABLE BY JOB {statement.job}"
    return words("RECOVER TABLE", table(statement.table), str(statement.number) if statement.number else "")


def flashback_table(statement: syntax.FlashbackTable) -> str:
    to = f"TO {quoted(statement.new_name)}" if statement.new_name else ""
    return words("FLASHBACK TABLE", table(statement.table), to)


def flashback_cluster(statement: syntax.FlashbackCluster) -> str:
    what = "CLUSTER"
    if statement.tables:
        what = f"TABLE {tables(statement.tables)}"
    elif statement.database:
        what = f"DATABASE {quoted(statement.database)}"
    moment = f"TSO {statement.tso}" if statement.tso else f"TIMESTAMP {literal(statement.timestamp)}"
    return f"FLASHBACK {what} TO {moment}"


def repair_table(statement: syntax.RepairTable) -> str:
    return f"ADMIN REPAIR TABLE {table(statement.table)} {restored_table(statement.definition)}"


def lock_tables(statement: syntax.LockTables) -> str:
    return "LOCK TABLES " + ", ".join(f"{table(name)} {kind}" for name, kind in statement.locks)


def unlock_tables(statement: syntax.UnlockTables) -> str:
    return f"ADMIN CLEANUP TABLE LOCK {tables(statement.tables)}" if statement.tables else "UNLOCK TABLES"


def create_index(statement: syntax.CreateIndex) -> str:
    key = statement.key
    kind = "" if key.kind == "key" else key.kind.upper()
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    parts = ", ".join(map(restored_part, key.parts))
    return words(
        "CREATE",
        kind,
        "INDEX",
        exists,
        quoted(key.name),
        "ON",
        table(statement.table),
        f"({parts})",
        restored_key_options(key.options),
        lock_and_algorithm(statement.algorithm, statement.lock),
    )


def drop_index(statement: syntax.DropIndex) -> str:
    """IF EXISTS is TiDB's own here, and its comment stands without a blank before the name."""
    exists = feature("IF EXISTS ") if statement.if_exists else ""
    tail = lock_and_algorithm(statement.algorithm, statement.lock)
    return words(f"DROP INDEX {exists}{quoted(statement.name)} ON", table(statement.table), tail)


def lock_and_algorithm(algorithm: str, lock: str) -> str:
    settings = (("ALGORITHM", algorithm), ("LOCK", lock))
    return " ".join(f"{name} = {value}" for name, value in settings if value not in ("", "DEFAULT"))
