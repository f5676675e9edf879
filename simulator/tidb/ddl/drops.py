"""DROP of several tables, views or sequences, each a job of its own.

Unknown names are an error after all others are dropped. Another error leaves those dropped that come before it (TiDB:
pkg/ddl/executor.go, dropTableObject).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.tidb_errors import tidb_error

Drop = Callable[[Catalog, syntax.TableName], Catalog | None]
"""Returns the catalog without the object, None for an unknown name. Raises DdlError for an error that ends the DROP."""


def drop_each(
    names: Iterable[syntax.TableName], drop: Drop, job: Job, unknown: str, if_exists: bool, session: Session
) -> ExecutionResult:
    """Drop objects one by one. `job` lacks the name of the object; `unknown` is the error that lists unknown names."""
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
