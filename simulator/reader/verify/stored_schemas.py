"""The schema files of a storage against the statements before them, and against the tables of the truth.

A checksum covers the columns of a schema file, but not its statement. Both must lead to the same columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simulator import tso
from simulator.reader.replay.stream_statements import StreamStatement, statement_jobs
from simulator.reader.replay.table_timeline import NO_TABLE, TableTimeline
from simulator.reader.storage import FileFinding
from simulator.reader.storage.directory import READERS, StorageDirectory
from simulator.reader.storage.schema_files import TableSchema
from simulator.reader.truth_metadata import Truth
from simulator.reader.verify.verification import NotChecked
from simulator.releases import Release
from simulator.ticdc.cloud_storage import METADATA, TableDefinition
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Table, names_untold_columns

DIFFERENT = "schema-different"
SHOWN = 100
"""Characters of a column that are shown."""

NOT_COMPARED = ("ColumnDefault", "ColumnId")
"""Members that neither statements nor definitions tell exactly: the time zone and the origin of a default, ids."""


def with_definitions(
    files: StorageDirectory, timeline: TableTimeline, expected: Iterable[Table], at: int
) -> StorageDirectory:
    """Return the files with the tables of their versions, and what is wrong with schema files.

    `expected` are the tables that the stream must have at the TSO `at`.
    """
    may = READERS if files.release is None else (files.release,)
    schemas = [file for file in files.files if isinstance(file, TableSchema) and file.table]
    defined = {file.path: table for file in schemas if (table := _definition(timeline, file)) is not None}
    tables = {(file.schema, file.table, file.version): defined[file.path] for file in schemas if file.path in defined}
    final = {object_key(table.schema, table.name): table for table in expected}
    last = {object_key(file.schema, file.table): file for file in schemas if file.version <= at}
    wrong = [
        *_other_types(schemas),
        *_differences(((file, defined.get(file.path)) for file in schemas), "the statements before it", may),
        *_differences(((file, final.get(name)) for name, file in last.items()), "the expected table", may),
    ]
    first = {finding.path: finding for finding in reversed(wrong)}
    return replace(files, told=tuple(first.values()), tables=tables)


def _definition(timeline: TableTimeline, file: TableSchema) -> Table | None:
    """Return the table of a schema file as statements tell it; None if it is only inferred from later ones."""
    ts = np.array([file.version + 1], np.int64)
    number = int(timeline.numbers((file.schema, file.table), ts, np.ones(1, np.bool_))[0])
    if number == NO_TABLE or timeline.tables[number].lenient:
        return None
    history = timeline.tables[number]
    return history.definitions[int(history.definition_at(ts)[0])].table


def _other_types(schemas: Iterable[TableSchema]) -> Iterator[FileFinding]:
    """Yield the schema files whose type is not that of their statement, as far as its text tells."""
    for file in (each for each in schemas if each.query):
        place = file.path, file.version, file.schema, file.table
        codes = {job.code for job in statement_jobs(StreamStatement(file.version, file.schema, file.query))}
        if not codes:
            yield FileFinding(*place, "", f"its statement is not understood: {file.query[:SHOWN]}")
        elif file.type not in codes:
            listed = " or ".join(map(str, sorted(codes)))
            yield FileFinding(*place, DIFFERENT, f"its Type is {file.type}, and that of its statement is {listed}")


def _differences(
    pairs: Iterable[tuple[TableSchema, Table | None]], whose: str, releases: Sequence[Release]
) -> Iterator[FileFinding]:
    """Yield the schema files that have other columns than each of these releases writes of tables."""
    for file, table in pairs:
        if table is None or bool(file.texts) != bool(file.columns):
            continue
        if names_untold_columns(b"".join(file.texts).decode("utf-8", "replace"), table):
            continue
        definition = TableDefinition(file.schema, table, file.version)
        told = ([text for _, text in definition.columns(release, False)] for release in releases)
        different = [_difference(file.texts, texts, whose) for texts in told]
        if all(different):
            yield FileFinding(file.path, file.version, file.schema, file.table, DIFFERENT, different[0])


def _difference(found: Sequence[bytes], expected: Sequence[bytes], whose: str) -> str:
    for one, other in zip(map(_members, found), map(_members, expected)):
        if one != other:
            name = one.get("ColumnName")
            if name != other.get("ColumnName"):
                return f"it has the column {name}, where {whose} has {other.get('ColumnName')}"
            members = {
                each: (one.get(each), other.get(each)) for each in {**one, **other} if one.get(each) != other.get(each)
            }
            each, (has, should) = next(iter(members.items()))
            return f"{each} of {name} is {_shown(has)}, and {_shown(should)} by {whose}"
    if len(found) != len(expected):
        return f"it has {len(found)} columns, and {whose} tells {len(expected)}"
    return ""


def _members(text: bytes) -> Mapping[str, Any]:
    return {name: value for name, value in json.loads(text).items() if name not in NOT_COMPARED}


def _shown(value: object) -> str:
    return "not there" if value is None else str(value)[:SHOWN]


def statement_findings(files: StorageDirectory, truth: Truth) -> Iterator[FileFinding]:
    """Yield the files of statements that are not as the run of the truth wrote them, are not there, or that it did not
    write."""
    checkpoint, sent = files.listing.checkpoint_ts or 0, {each.key: each for each in truth.statements if each.is_sent}
    there = {file.path: file for file in files.files if isinstance(file, TableSchema) and file.query}
    for path, each in sent.items():
        place = path, each.commit_ts, each.schema, each.table
        if path in there:
            if files.listing.content(path).decode("utf-8", "replace") != each.value:
                yield FileFinding(*place, "ddl-different", "it is not as the run wrote it")
        elif path not in files.listing.sizes and each.query and each.commit_ts <= checkpoint:
            yield FileFinding(*place, "ddl-missing", f"the run wrote it, for {each.query[:SHOWN]}")
    for path, file in there.items():
        if path not in sent and truth.start_ts <= file.version <= truth.final_watermark:
            yield FileFinding(path, file.version, file.schema, file.table, "ddl-different", "the run did not write it")


def later_checkpoint(checkpoint: int | None, truth: Truth | None) -> Iterator[NotChecked]:
    """Yield that the checkpoint lies above the run that the truth is of."""
    if truth is not None and checkpoint is not None and checkpoint > truth.final_watermark:
        why = f"the run of the truth ended at {tso.describe(truth.final_watermark)}"
        yield NotChecked(f"{METADATA}, whose checkpoint is {tso.describe(checkpoint)}", why)
