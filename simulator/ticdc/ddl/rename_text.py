"""The text that TiCDC makes up for a renamed table, where it does not send the statement's own.

One law: one text a pair. Sources: tiflow cdc/model/sink.go, FromJobWithArgs; ticdc v8.5.4, v8.5.6 and v8.5.7
logservice/schemastore/persist_storage_ddl_handlers.go, buildPersistedDDLEventForRenameTable(s).
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.releases import Release
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.definitions import Pair, TableName


def rename_texts(pairs: Sequence[Pair], written: Sequence[Pair], release: Release) -> tuple[str, ...]:
    """`RENAME TABLE … TO …` for each pair of a job: `pairs` as the objects are called, `written` as its statement has
    the same names, perhaps without schemas.

    Classic TiCDC sends these where the statement has several pairs, and the statement's own text where it has one.
    """
    if release.architecture == "classic":
        return tuple(f"RENAME TABLE {_plain(old)} TO {_plain(new)}" for old, new in pairs)
    spelled, end = (_several, ";") if len(pairs) > 1 else (_one, "")
    full = _quoted if release.rename_quotes_names else _plain
    names = [spelled(pair, said, release) for pair, said in zip(pairs, written, strict=True)]
    return tuple(f"RENAME TABLE {full(old)} TO {full(new)}{end}" for old, new in names)


def _one(pair: Pair, written: Pair, release: Release) -> Pair:
    """The old name is the statement's; a schema that is not in it is the job's, in lower case before ticdc 8.5.7."""
    (old, new), (said, _) = pair, written
    schema = old.schema if release.rename_finds_old_schema else old.schema.lower()
    return TableName(said.schema or schema, said.name), new


def _several(pair: Pair, written: Pair, release: Release) -> Pair:
    """The tables as the statement has them; from ticdc 8.5.6 their schemas too, where it names them."""
    (old, new), (old_said, new_said) = pair, written
    if not release.rename_quotes_names:
        return TableName(old.schema, old_said.name), TableName(new.schema, new_said.name)
    return _filled(old_said, old.schema), _filled(new_said, new.schema)


def _filled(said: TableName, schema: str) -> TableName:
    return TableName(said.schema or schema, said.name)


def _plain(name: TableName) -> str:
    """Back-quotes inside of a name are not doubled: TiDB would not read the text of such a name."""
    return f"`{name.schema}`.`{name.name}`"


def _quoted(name: TableName) -> str:
    return f"{quoted(name.schema)}.{quoted(name.name)}"
