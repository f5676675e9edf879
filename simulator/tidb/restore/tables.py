"""CREATE TABLE as TiDB writes it back and TiCDC sends it.

One law: columns come first, then keys and constraints (TiDB: pkg/parser/ast/ddl.go, CreateTableStmt.Restore).
"""

from __future__ import annotations

from simulator.tidb.restore.columns import restored_column
from simulator.tidb.restore.keys import restored_key
from simulator.tidb.restore.names import table
from simulator.tidb.restore.options import restored_options, sent_options
from simulator.tidb.restore.partitions import restored_partitioning
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import TableSyntax

TEMPORARY = {"": "", "local": "TEMPORARY ", "global": "GLOBAL TEMPORARY "}


def restored_table(syntax: TableSyntax) -> str:
    """The whole statement."""
    elements = ",".join((*map(restored_column, syntax.columns), *map(restored_key, syntax.keys)))
    return "".join((
        f"CREATE {TEMPORARY[syntax.temporary]}TABLE {'IF NOT EXISTS ' if syntax.if_not_exists else ''}",
        table(TableName(syntax.schema, syntax.name)),
        f" LIKE {table(syntax.like)}" if syntax.like else "",
        f" ({elements})" if elements else "",
        restored_options(sent_options(syntax.options)),
        f" {restored_partitioning(syntax.partitioning)}" if syntax.partitioning else "",
        restored_query(syntax),
        restored_commit(syntax),
    ))


def restored_query(syntax: TableSyntax) -> str:
    if not syntax.query:
        return ""
    return f" {syntax.on_duplicate}".rstrip() + f" AS {syntax.query.restored}"


def restored_commit(syntax: TableSyntax) -> str:
    if syntax.on_commit_delete is None:
        return ""
    return f" ON COMMIT {'DELETE' if syntax.on_commit_delete else 'PRESERVE'} ROWS"
