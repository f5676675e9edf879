"""Which jobs the table options of one ALTER TABLE spec are (tidb: pkg/ddl/executor.go AlterTable, AlterTableOption).

One law: an option is a job of its own, but charset and collation are one, the options of TTL are one, and the
placement policy comes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from simulator.errors import DdlError, SchemaError
from simulator.tidb.ddl import actions
from simulator.tidb.model import charsets
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.alter import ConvertCharset
from simulator.tidb.syntax.tables import TableOption

OPTIONS: Mapping[str, int] = {
    "SHARD_ROW_ID_BITS": actions.SHARD_ROW_ID,
    "AUTO_INCREMENT": actions.REBASE_AUTO_ID,
    "AUTO_ID_CACHE": actions.MODIFY_TABLE_AUTO_ID_CACHE,
    "AUTO_RANDOM_BASE": actions.REBASE_AUTO_RANDOM_BASE,
    "COMMENT": actions.MODIFY_TABLE_COMMENT,
    "CHARSET": actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
    "CHARACTER SET": actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
    "COLLATE": actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
    "TTL": actions.ALTER_TTL_INFO,
    "TTL_ENABLE": actions.ALTER_TTL_INFO,
    "TTL_JOB_INTERVAL": actions.ALTER_TTL_INFO,
    "PLACEMENT POLICY": actions.ALTER_TABLE_PLACEMENT,
}

UTF8MB4 = ("utf8mb4", "utf8mb4_bin")

TOGETHER = frozenset({actions.MODIFY_TABLE_CHARSET_AND_COLLATE, actions.ALTER_TTL_INFO, actions.ALTER_TABLE_PLACEMENT})

NO_JOB = frozenset({"ENGINE", "ROW_FORMAT"})


def options(said: Sequence[TableOption], table: Table | None) -> Iterator[int | str]:
    """Raises DdlError for an option that TiDB does not alter."""
    done: set[int] = set()
    for option in said:
        name = option.name.upper()
        code = OPTIONS.get(name)
        if name in NO_JOB:
            yield f"{name} is accepted, no job"
        elif code is None:
            raise _refused(name)
        elif code not in done:
            done |= {code} & TOGETHER
            if code == actions.MODIFY_TABLE_CHARSET_AND_COLLATE:
                yield from _charset(said, table)
            elif code == actions.SHARD_ROW_ID and table and dict(table.options).get(name) == option.value:
                yield f"{name} is {option.value} already: no job"
            elif code != actions.ALTER_TABLE_PLACEMENT:
                yield code
    if actions.ALTER_TABLE_PLACEMENT in done:
        yield actions.ALTER_TABLE_PLACEMENT


def converted(spec: ConvertCharset, table: Table | None) -> Iterator[int | str]:
    """CONVERT TO CHARACTER SET: nothing where the table and all its text columns have it."""
    wanted = _resolved(spec.charset, spec.collation, (table.charset, table.collation) if table else UTF8MB4)
    if table and wanted == (table.charset, table.collation) and all(
        (column.type.charset, column.type.collation) == wanted
        for column in table.columns
        if column.type.charset != "binary" and family(column.type) in ("string", "text", "enum", "set")
    ):
        yield "the table and its columns have this character set and collation: no job"
    else:
        yield actions.MODIFY_TABLE_CHARSET_AND_COLLATE


def _charset(said: Sequence[TableOption], table: Table | None) -> Iterator[int | str]:
    if table and resolved(said, (table.charset, table.collation)) == (table.charset, table.collation):
        yield "the table has this character set and collation: no job"
    else:
        yield actions.MODIFY_TABLE_CHARSET_AND_COLLATE


def resolved(said: Sequence[TableOption], default: tuple[str, str]) -> tuple[str, str] | None:
    """Charset and collation that options mean, the last of each; None for one that does not exist."""
    charset = next((one.value for one in reversed(said) if one.name.upper() in ("CHARSET", "CHARACTER SET")), "")
    collation = next((one.value for one in reversed(said) if one.name.upper() == "COLLATE"), "")
    return _resolved(charset, collation, default)


def _resolved(charset: str, collation: str, default: tuple[str, str]) -> tuple[str, str] | None:
    try:
        return charsets.resolve(charset, collation, default, "ALTER TABLE")
    except SchemaError:
        return None


def _refused(name: str) -> DdlError:
    if name == "ENGINE_ATTRIBUTE":
        return DdlError("Storage engine does not support ENGINE_ATTRIBUTE.", "ddl:3981")
    return DdlError("This type of ALTER TABLE is currently unsupported", "ddl:8200")
