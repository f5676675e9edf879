"""Checks of a model before its stream begins."""

from __future__ import annotations

import math

from simulator.errors import UserError
from simulator.generate.changes.row_lifecycle import spare_rows
from simulator.generate.changes.transactions import MOST
from simulator.generate.model import HotSet, Mix, Model, Skew, TableModel, Zipf
from simulator.quantities import counted

CHANGES = 10_000
"""Maximum sum of a mix, divided by the common divisor of its numbers."""

ROWS = 2_000_000_000
"""Maximum rows at the start of a table: a product of two such numbers has 64 bits."""

TRANSACTION = 1_000_000


def check(model: Model) -> None:
    """Raise UserError for a model that is not possible."""
    if not model.tables:
        raise UserError("a stream needs a table at least")
    least, most = model.rows_per_transaction
    if not 1 <= least <= most <= TRANSACTION:
        raise UserError(
            f"rows-per-transaction: least {least:,} and most {most:,}: expected 1 to {TRANSACTION:,}, the least first"
        )
    if not 1 <= model.tables_per_transaction <= most:
        raise UserError(
            f"tables-per-transaction {model.tables_per_transaction:,}: expected 1 to {most:,}, which is how many rows "
            "a transaction has"
        )
    _check_weights(model)
    for table in model.tables:
        _check_table(table, most)


def _check_weights(model: Model) -> None:
    for table in model.tables:
        if table.weight < 0:
            raise UserError(f"{_name(table)}: weight {table.weight}: expected 0 or more")
    weights = sum(table.weight for table in model.tables)
    if not weights:
        raise UserError("every table has weight 0: one at least needs changes")
    for table in model.tables:
        if table.weight and weights // table.weight > MOST // 4:
            raise UserError(
                f"{_name(table)}: weight {table.weight:,} beside {weights - table.weight:,} of the others: expected at "
                f"least one change in {MOST // 4:,}, or weight 0"
            )


def _check_table(table: TableModel, most: int) -> None:
    if not 0 <= table.rows <= ROWS:
        raise UserError(f"{_name(table)}: rows {table.rows:,}: expected 0 to {ROWS:,}")
    _check_mix(table, table.mix, most)
    _check_skew(table, table.skew)


def _check_mix(table: TableModel, mix: Mix, most: int) -> None:
    changes = mix.inserts + mix.updates + mix.deletes
    if min(mix.inserts, mix.updates, mix.deletes) < 0 or not (
        0 < changes <= CHANGES * math.gcd(mix.inserts, mix.updates, mix.deletes)
    ):
        raise UserError(
            f"{_name(table)}: mix of {counted(mix.inserts, 'insert')}, {counted(mix.updates, 'update')} and {counted(mix.deletes, 'delete')}: "
            f"expected none below 0, and 1 to {CHANGES:,} in all"
        )
    if not table.weight:
        return
    if mix.deletes > mix.inserts:
        after = -(-spare_rows(table, most) * changes // (mix.deletes - mix.inserts))
        kept = ", whose first rows are kept as others refer to them," if table.kept else ""
        raise UserError(
            f"{_name(table)}: {mix.deletes:,} deletes for {mix.inserts:,} inserts exhaust the table{kept} after "
            f"{counted(after, 'change')}: expected at most as many deletes as inserts"
        )
    if mix.updates and not table.rows:
        raise UserError(
            f"{_name(table)}: rows 0, but a mix of {counted(mix.updates, 'update')}: expected 1 row or more"
        )
    if mix.deletes and spare_rows(table, most) < most:
        raise UserError(
            f"{_name(table)}: rows {table.rows:,} are too few for deletes in transactions of up to {counted(most, 'row')}: "
            f"expected rows {most:,} or more, so that a transaction does not delete what it inserts"
        )


def _check_skew(table: TableModel, skew: Skew) -> None:
    match skew:
        case Zipf(exponent) if not (math.isfinite(exponent) and 0 < exponent <= 10):
            raise UserError(f"{_name(table)}: skew zipf {exponent}: expected an exponent above 0, and up to 10")
        case HotSet(rows, updates) if not (0 < rows < 1 and 0 < updates <= 1):
            raise UserError(
                f"{_name(table)}: skew of {updates:g} of the updates for {rows:g} of the rows: expected shares above "
                "0, up to 1, and not all rows"
            )


def _name(table: TableModel) -> str:
    return f"table {table.schema}.{table.name}"
