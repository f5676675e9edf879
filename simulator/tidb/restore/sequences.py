"""Writes CREATE, ALTER and DROP SEQUENCE.

One law: the options stay in the order of the statement, table options behind them.
"""

from __future__ import annotations

from simulator.tidb.restore.names import table, tables, words
from simulator.tidb.restore.options import restored_option
from simulator.tidb.syntax.objects import AlterSequence, CreateSequence, DropSequence, SequenceOption


def create_sequence(statement: CreateSequence) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    table_options = "".join(f" {restored_option(option)}" for option in statement.table_options)
    return words("CREATE SEQUENCE", exists, table(statement.sequence), options(statement.options)) + table_options


def alter_sequence(statement: AlterSequence) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return words("ALTER SEQUENCE", exists, table(statement.sequence), options(statement.options))


def drop_sequence(statement: DropSequence) -> str:
    return words("DROP SEQUENCE", "IF EXISTS" if statement.if_exists else "", tables(statement.sequences))


def options(given: tuple[SequenceOption, ...]) -> str:
    return " ".join(option.name if option.value is None else f"{option.name} {option.value}" for option in given)
