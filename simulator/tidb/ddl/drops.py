"""DROP of several tables, views or sequences: one after another, each a job of its own.

A name that is not there is told at the end, and what stops TiDB leaves what was dropped before it (TiDB:
pkg/ddl/executor.go, dropTableObject).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.errors import DdlError
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.tidb_errors import tidb_error
from simulator.tidb.syntax.definitions import TableName

Drop = Callable[[Catalog, TableName], Catalog | None]
"""The catalog without the object, None where there is none of that name; raises DdlError for what stops TiDB."""


def drop_each(
    names: Iterable[TableName], drop: Drop, job: Job, unknown: str, if_exists: bool, session: Session
) -> ExecutionResult:
    """`job` is that of each object but for its name, `unknown` the code of the error that lists what is not there."""
    jobs, missing, catalog, error = [], [], session.catalog, None
    for name in map(session.qualified_name, names):
        if catalog is not None:
            try:
                behind = drop(catalog, name)
            except DdlError as stopped:
                error = stopped
                break
            if behind is None:
                missing.append(".".join(name))
                continue
            catalog = behind
        jobs.append(job.with_object(*session.existing_name(name)))
    listed = tidb_error(unknown, ",".join(missing)) if missing else None
    if if_exists:
        return ExecutionResult(tuple(jobs), (f"{listed.text}: no job",) if listed else (), catalog, error)
    return ExecutionResult(tuple(jobs), (), catalog, error or listed)
