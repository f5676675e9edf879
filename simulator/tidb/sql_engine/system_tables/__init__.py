"""The tables of information_schema, made of the catalog when a query names them.

`columns.tsv` has their columns (tidb v8.5 pkg/infoschema/tables.go), the modules beside it their rows (tidb
pkg/executor/infoschema_reader.go). The tables about the cluster, its statistics and its statements are not here.
"""

from __future__ import annotations

from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.system_tables.all_rows import ROWS
from simulator.tidb.sql_engine.system_tables.definitions import SystemTable, system_definitions


def system_table(name: str, upstream: Upstream, now_ms: int) -> SystemTable | None:
    """Return a table of information_schema with its rows, or None for a name that is none."""
    table = system_definitions().get(name.lower())
    return None if table is None else SystemTable(table, list(ROWS[table.name](upstream, now_ms)))
