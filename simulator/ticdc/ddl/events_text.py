"""Statements that TiCDC writes anew, before it restores them.

One law: they name their databases. Classic doubles no back-quote in a name, so that such a name breaks the statement.
Sources: tiflow v8.5.3 cdc/model/sink.go; ticdc v8.5.4 logservice/schemastore/persist_storage_ddl_handlers.go.
"""

from __future__ import annotations

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl.jobs_shape import Job
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.alter import ExchangePartition
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import AlterTable

WITHOUT_VALIDATION = " WITHOUT VALIDATION"


def quoted_name(schema: str, table: str, release: Release) -> str:
    """`schema`.`table` between back-quotes."""
    return f"{_quoted(schema, release)}.{_quoted(table, release)}"


def exchanging(job: Job, plain: TableName, release: Release) -> str:
    """Classic copies the partition's name from the text, back-quotes and all, and looks for WITHOUT VALIDATION at the
    very end of it; the new architecture does so in the restored text."""
    new = release.architecture == "new"
    spec = _exchange(job)
    partition = _partition(spec.partition, release) if new else _between(job.query, "EXCHANGE PARTITION", "WITH TABLE")
    without = not spec.validation if new else job.query.upper().endswith(WITHOUT_VALIDATION.strip())
    text = f"ALTER TABLE {quoted_name(job.schema, job.table, release)} EXCHANGE PARTITION {_quoted(partition, release)}"
    return f"{text} WITH TABLE {quoted_name(*plain, release)}{WITHOUT_VALIDATION * without}"


def _exchange(job: Job) -> ExchangePartition:
    assert isinstance(job.statement, AlterTable)
    return next(spec for spec in job.statement.specs if isinstance(spec, ExchangePartition))


def _partition(name: str, release: Release) -> str:
    """Before ticdc 8.5.7 (as rename_finds_old_schema) the name loses its own back-quotes too."""
    return name if release.rename_finds_old_schema else name.replace("`", "")


def _quoted(name: str, release: Release) -> str:
    return quoted(name) if release.escapes_rebuilt_names else f"`{name}`"


def _between(text: str, begin: str, end: str) -> str:
    """What stands between two phrases; TiCDC does not look whether it finds the first, and panics without the other."""
    upper = "".join(one.upper() if len(one.upper()) == 1 else one for one in text)
    start, stop = upper.find(begin) + len(begin), upper.find(end)
    if stop < start:
        raise DdlError(f"TiCDC panics: it looks for {end!r} with one space in {text!r}", "CDC:ErrUnexpected")
    return text[start:stop].strip()
