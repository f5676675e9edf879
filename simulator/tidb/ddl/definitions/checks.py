"""CHECK constraints of CREATE TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from simulator.tidb import syntax
from simulator.tidb.model.table import CheckConstraint


def name_checks(definition: syntax.CreateTable) -> list[tuple[str, syntax.CheckDefinition, str]]:
    """Return the CHECKs of the table, then those of columns: name, definition, and the column that it belongs to.

    Unnamed ones are called `t_chk_1`, `t_chk_2`, … (TiDB: setEmptyCheckConstraintName).
    """
    beside = [(key.check, "") for key in definition.keys if key.check]
    checks = beside + [
        (option.check, column.name) for column in definition.columns for option in column.options if option.check
    ]
    free = free_names(definition.name, {check.name.lower() for check, _ in checks})
    return [(check.name or next(free), check, column) for check, column in checks]


def free_names(table: str, taken_names: set[str]) -> Iterator[str]:
    return (name for number in count(1) if (name := f"{table.lower()}_chk_{number}") not in taken_names)


def build_checks(definition: syntax.CreateTable) -> tuple[CheckConstraint, ...]:
    return tuple(
        CheckConstraint(name, check.condition.text, check.enforced) for name, check, _ in name_checks(definition)
    )
