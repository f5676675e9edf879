"""Writes CREATE INDEX and DROP INDEX.

One law: LOCK and ALGORITHM that are the default are forgotten.
"""

from __future__ import annotations

from simulator.tidb.restore.checks import restored_part
from simulator.tidb.restore.keys import restored_key_options
from simulator.tidb.restore.names import feature, table, words
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.statements import CreateIndex, DropIndex


def create_index(statement: CreateIndex) -> str:
    key = statement.key
    kind = "" if key.kind == "key" else key.kind.upper()
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    parts = ", ".join(map(restored_part, key.parts))
    return words(
        "CREATE", kind, "INDEX", exists, quoted(key.name), "ON", table(statement.table), f"({parts})",
        restored_key_options(key.options), lock_and_algorithm(statement.algorithm, statement.lock),
    )


def drop_index(statement: DropIndex) -> str:
    """IF EXISTS is TiDB's own here, and its comment stands without a blank before the name."""
    exists = feature("IF EXISTS ") if statement.if_exists else ""
    tail = lock_and_algorithm(statement.algorithm, statement.lock)
    return words(f"DROP INDEX {exists}{quoted(statement.name)} ON", table(statement.table), tail)


def lock_and_algorithm(algorithm: str, lock: str) -> str:
    settings = (("ALGORITHM", algorithm), ("LOCK", lock))
    return " ".join(f"{name} = {value}" for name, value in settings if value not in ("", "DEFAULT"))
