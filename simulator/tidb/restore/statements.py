"""Restore the statements on databases, on whole tables and on indexes.

TiDB does not write RESTRICT, CASCADE, and LOCK and ALGORITHM with default values.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.restore.definitions import restore_key_options, restore_part
from simulator.tidb.restore.names import (
    feature_comment,
    join_words,
    quote_literal,
    quote_name,
    quote_string,
    restore_table_name,
    restore_table_names,
)
from simulator.tidb.restore.tables import TEMPORARY, restore_table


def restore_create_database(statement: syntax.CreateDatabase) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    return join_words("CREATE DATABASE", exists, quote_name(statement.name)) + restore_database_options(
        statement.options
    )


def restore_alter_database(statement: syntax.AlterDatabase) -> str:
    """Restore ALTER DATABASE, which is empty if it has only placement."""
    if is_placement(statement):
        return ""
    name = quote_name(statement.name) if statement.name else ""
    return join_words("ALTER DATABASE", name) + restore_database_options(statement.options)


def is_placement(statement: syntax.AlterDatabase) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in statement.options)


def restore_alter_database_placement(statement: syntax.AlterDatabase) -> str:
    """Restore an ALTER DATABASE that has only placement."""
    name = quote_name(statement.name) if statement.name else ""
    policies = (f"PLACEMENT POLICY = {quote_name(option.value)}" for option in statement.options)
    return join_words("ALTER DATABASE", name, *policies)


def restore_database_options(options: tuple[syntax.TableOption, ...]) -> str:
    return "".join(f" {restore_database_option(option)}" for option in options)


def restore_database_option(option: syntax.TableOption) -> str:
    """Restore an option. PLACEMENT POLICY is empty."""
    if option.name == "PLACEMENT POLICY":
        return ""
    if option.name == "TIFLASH REPLICA":
        return f"SET TIFLASH REPLICA {option.value}"
    name = "CHARACTER SET" if option.name == "CHARSET" else option.name
    return f"{name} = {quote_string(option.value) if option.quoted else option.value}"


def restore_drop_database(statement: syntax.DropDatabase) -> str:
    return join_words("DROP DATABASE", "IF EXISTS" if statement.if_exists else "", quote_name(statement.name))


def restore_flashback_database(statement: syntax.FlashbackDatabase) -> str:
    to = f"TO {quote_name(statement.new_name)}" if statement.new_name else ""
    return join_words("FLASHBACK DATABASE", quote_name(statement.name), to)


def restore_drop_table(statement: syntax.DropTable) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return join_words("DROP", TEMPORARY[statement.temporary], "TABLE", exists, restore_table_names(statement.tables))


def restore_truncate_table(statement: syntax.TruncateTable) -> str:
    return f"TRUNCATE TABLE {restore_table_name(statement.table)}"


def restore_rename_table(statement: syntax.RenameTable) -> str:
    return "RENAME TABLE " + ", ".join(
        f"{restore_table_name(old)} TO {restore_table_name(new)}" for old, new in statement.pairs
    )


def restore_recover_table(statement: syntax.RecoverTable) -> str:
    if statement.table is None:
        return f"RECOVER TABLE BY JOB {statement.job}"
    return join_words(
        "RECOVER TABLE", restore_table_name(statement.table), str(statement.number) if statement.number else ""
    )


def restore_flashback_table(statement: syntax.FlashbackTable) -> str:
    to = f"TO {quote_name(statement.new_name)}" if statement.new_name else ""
    return join_words("FLASHBACK TABLE", restore_table_name(statement.table), to)


def restore_flashback_cluster(statement: syntax.FlashbackCluster) -> str:
    what = "CLUSTER"
    if statement.tables:
        what = f"TABLE {restore_table_names(statement.tables)}"
    elif statement.database:
        what = f"DATABASE {quote_name(statement.database)}"
    moment = f"TSO {statement.tso}" if statement.tso else f"TIMESTAMP {quote_literal(statement.timestamp)}"
    return f"FLASHBACK {what} TO {moment}"


def restore_repair_table(statement: syntax.RepairTable) -> str:
    return f"ADMIN REPAIR TABLE {restore_table_name(statement.table)} {restore_table(statement.definition)}"


def restore_lock_tables(statement: syntax.LockTables) -> str:
    return "LOCK TABLES " + ", ".join(f"{restore_table_name(name)} {kind}" for name, kind in statement.locks)


def restore_unlock_tables(statement: syntax.UnlockTables) -> str:
    return f"ADMIN CLEANUP TABLE LOCK {restore_table_names(statement.tables)}" if statement.tables else "UNLOCK TABLES"


def restore_create_index(statement: syntax.CreateIndex) -> str:
    key = statement.key
    kind = "" if key.kind == "key" else key.kind.upper()
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    parts = ", ".join(map(restore_part, key.parts))
    return join_words(
        "CREATE",
        kind,
        "INDEX",
        exists,
        quote_name(key.name),
        "ON",
        restore_table_name(statement.table),
        f"({parts})",
        restore_key_options(key.options),
        restore_lock_and_algorithm(statement.algorithm, statement.lock),
    )


def restore_drop_index(statement: syntax.DropIndex) -> str:
    """Restore DROP INDEX. IF EXISTS is a comment of TiDB, without a blank before the name."""
    exists = feature_comment("IF EXISTS ") if statement.if_exists else ""
    tail = restore_lock_and_algorithm(statement.algorithm, statement.lock)
    return join_words(f"DROP INDEX {exists}{quote_name(statement.name)} ON", restore_table_name(statement.table), tail)


def restore_lock_and_algorithm(algorithm: str, lock: str) -> str:
    settings = (("ALGORITHM", algorithm), ("LOCK", lock))
    return " ".join(f"{name} = {value}" for name, value in settings if value not in ("", "DEFAULT"))
