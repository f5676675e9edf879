"""Writes CREATE VIEW and DROP VIEW.

One law: everything a view is by default is written out, but WITH CASCADED CHECK OPTION.
"""

from __future__ import annotations

from simulator.tidb.restore.names import table, tables, words
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.objects import CreateView, DropView


def create_view(statement: CreateView) -> str:
    columns = f"({','.join(map(quoted, statement.columns))})" if statement.columns else ""
    check = "" if statement.check_option == "CASCADED" else f"WITH {statement.check_option} CHECK OPTION"
    return words(
        "CREATE", "OR REPLACE" if statement.or_replace else "", f"ALGORITHM = {statement.algorithm}",
        f"DEFINER = {statement.definer}", f"SQL SECURITY {statement.security}", "VIEW", table(statement.view), columns,
        "AS", statement.query.restored, check,
    )


def drop_view(statement: DropView) -> str:
    return words("DROP VIEW", "IF EXISTS" if statement.if_exists else "", tables(statement.views))
