"""Writes CREATE, ALTER, DROP and FLASHBACK DATABASE.

One law: PLACEMENT POLICY leaves nothing but the blank before it.
"""

from __future__ import annotations

from simulator.tidb.restore.names import words
from simulator.tidb.restore.restoring import quoted, string
from simulator.tidb.syntax.statements import AlterDatabase, CreateDatabase, DropDatabase, FlashbackDatabase
from simulator.tidb.syntax.tables import TableOption


def create_database(statement: CreateDatabase) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    return words("CREATE DATABASE", exists, quoted(statement.name)) + options(statement.options)


def alter_database(statement: AlterDatabase) -> str:
    """Nothing for a statement of placement alone."""
    if is_placement(statement):
        return ""
    name = quoted(statement.name) if statement.name else ""
    return words("ALTER DATABASE", name) + options(statement.options)


def is_placement(statement: AlterDatabase) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in statement.options)


def alter_database_placement(statement: AlterDatabase) -> str:
    """A statement of placement alone, kept."""
    name = quoted(statement.name) if statement.name else ""
    return words("ALTER DATABASE", name, *(f"PLACEMENT POLICY = {quoted(one.value)}" for one in statement.options))


def options(given: tuple[TableOption, ...]) -> str:
    return "".join(f" {option(one)}" for one in given)


def option(given: TableOption) -> str:
    if given.name == "PLACEMENT POLICY":
        return ""
    if given.name == "TIFLASH REPLICA":
        return f"SET TIFLASH REPLICA {given.value}"
    name = "CHARACTER SET" if given.name == "CHARSET" else given.name
    return f"{name} = {string(given.value) if given.quoted else given.value}"


def drop_database(statement: DropDatabase) -> str:
    return words("DROP DATABASE", "IF EXISTS" if statement.if_exists else "", quoted(statement.name))


def flashback_database(statement: FlashbackDatabase) -> str:
    to = f"TO {quoted(statement.new_name)}" if statement.new_name else ""
    return words("FLASHBACK DATABASE", quoted(statement.name), to)
