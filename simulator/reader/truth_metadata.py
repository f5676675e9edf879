"""The file `truth.json` of a truth: how its run was made. It is all that is needed to check the stream.

It tells the tables when the stream began, and every statement since, with its message in the form that `compare` gives it,
without the time at which it was built. The checks find out whether the truth is complete and belongs to the stream, by its
rows, topics, time and tables. A difference that a fault may have caused is no reason to reject it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from simulator import limits, releases, tso
from simulator.columns.hashing import KINDS, ChangeSum, ChangeSums, read_sums, sums_of_kinds
from simulator.errors import HIDDEN, SchemaError, UserError, is_secret, mask_secrets
from simulator.files import directory_entries, parse_json, read_text
from simulator.limits import counted
from simulator.releases import Release, full_name
from simulator.settings import to_time_zone
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Name, Table

IGNORED = frozenset({"build-ts", "members", "claim-check-names", "schemas"})
"""What is left out of the texts of messages (`compared_events.IGNORABLE`): two runs of one plan do not share it. Which
schema of a registry a statement names depends on the messages before it."""


@dataclass(frozen=True)
class BroadcastDdl:
    """A DDL event. The same statement in another partition, or repeated, is equal."""

    commit_ts: int
    schema: str
    table: str
    text: str
    type: str


@dataclass(frozen=True)
class ExpectedStatement:
    commit_ts: int
    """TSO; the beginning of its millisecond where messages tell no more. Of a statement that is not sent, that of its
    job."""

    schema: str
    """The database that the message names; of a statement that is not sent, the current database."""

    table: str
    query: str
    """The text in the message; of a statement that is not sent, that of the session."""

    type: str = ""
    """As the message tells it; empty for a statement that is not sent."""

    topic: str = ""
    """Empty for a statement that is not sent."""

    key: str = ""
    value: str = ""
    """Texts of the message's key and value; of files, path and content."""

    after: str = ""
    """CREATE TABLE of the table after the statement; empty if there is none, or if it is no table."""

    sql_mode: str = ""
    """The modes of the session that change how the text is read, separated by commas, if the text is what was typed, or
    what TiCDC made of it without them."""

    @property
    def is_sent(self) -> bool:
        return bool(self.topic)

    @property
    def statement(self) -> tuple[int, str, str]:
        """Return commit-ts, database and text."""
        return self.commit_ts, self.schema, self.query

    @property
    def sent(self) -> BroadcastDdl:
        """Return the event that the stream has of it."""
        return BroadcastDdl(self.commit_ts, self.schema, self.table, self.query, self.type)

    @property
    def modes(self) -> frozenset[str]:
        return frozenset(filter(None, self.sql_mode.split(",")))

    @property
    def table_after(self) -> Table | None:
        return _create_table(self.after, self.schema) if self.after else None


def document(statements: Sequence[ExpectedStatement]) -> list[dict[str, Any]]:
    """Return the statements as JSON, without what is empty."""
    return [{name: value for name, value in asdict(each).items() if value != ""} for each in statements]


def read_statements(document: object) -> tuple[ExpectedStatement, ...]:
    """Read what `document` returns; raises ValueError for anything else."""
    if not isinstance(document, list):
        raise ValueError("a list is expected")
    kinds = {field.name: int if field.type == "int" else str for field in fields(ExpectedStatement)}
    for each in document:
        if not isinstance(each, dict) or "commit_ts" not in each:
            raise ValueError("a statement has a commit_ts")
        for name, value in each.items():
            if type(value) is not kinds.get(name):
                raise ValueError(f"{name} of a statement is {value!r:.60}")
    return tuple(ExpectedStatement(**{"schema": "", "table": "", "query": "", **each}) for each in document)


def _create_table(text: str, schema: str) -> Table:
    from simulator.tidb.ddl.table_definitions import create_table  # commands that read a stream need no parser

    return create_table(text, schema)


def tables_of(definitions: Mapping[str, str]) -> dict[Name, Table]:
    """Return tables by schema and name, given as `db.table` → CREATE TABLE; raises ValueError for another text."""
    tables: dict[Name, Table] = {}
    for name, text in definitions.items():
        schema, _, table = name.partition(".")
        try:
            tables[schema, table] = _create_table(text, schema)
        except SchemaError as error:
            raise ValueError(f"the definition of {name}: {error}") from None
    return tables


FILE = "truth.json"
VERSION = 3


@dataclass(frozen=True)
class TruthMetadata:
    command: str
    """`run`, `diff`, `load` or `TiCDC` (from Python)."""

    played: str
    """The name of the scenario, the plan or the snapshots."""

    release: str
    architecture: str
    sink_uri: str
    """With secrets masked."""

    config: str
    """Text of changefeed.toml with secrets masked; empty for none."""

    topics: Mapping[str, int]
    """Topic → number of partitions at the end of the run."""

    start_ts: int
    """The TSO below all changes."""

    watermark: int
    """The TSO of the rows in this truth."""

    final_watermark: int
    """The last watermark of the run."""

    empty: tuple[str, ...]
    """Tables (`db.table`) without rows at the start of the stream; the initial rows of others are not in the stream."""

    seed: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    """`db.table` → number of rows of every table, so that missing files are noticed."""

    emptied: tuple[str, ...] = ()
    """Tables (`db.table`) that lost rows by statements which the stream does not have."""

    changes: Mapping[str, ChangeSum] = field(default_factory=dict)
    """`db.table` → INSERTs and UPDATEs that were sent; empty if they were not summed."""

    deletes: Mapping[str, ChangeSum] = field(default_factory=dict)
    """The same of DELETEs."""

    bootstraps: Mapping[str, ChangeSum] = field(default_factory=dict)
    """The same of messages with a table's schema."""

    definitions: Mapping[str, str] = field(default_factory=dict)
    """`db.table` → CREATE TABLE of the tables at the start of the stream, under their names in messages."""

    added_columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """`db.table` → columns that were added before the stream → what older rows have there (TiDB's origin default)."""

    statements: tuple[ExpectedStatement, ...] = ()
    """The statements on replicated tables, sent or not, in order of their commit-ts."""

    time_zone: str = ""
    """That of TiCDC's servers; empty for that of machines in UTC."""

    grown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Topic that got more partitions → TSO → how many partitions rows above it are sent to."""

    @property
    def sums(self) -> ChangeSums:
        """Return the row changes that were sent; empty if they were not summed."""
        return sums_of_kinds({kind: getattr(self, kind) for kind in KINDS})


def write(directory: Path, about: TruthMetadata) -> None:
    members = {"version": VERSION, **asdict(about), "statements": document(about.statements)}
    (directory / FILE).write_text(json.dumps(members, indent=2) + "\n", "utf-8")


VALUE = re.compile(r"""((["']?)([\w.-]+)\2\s*=\s*)(["'])([^\n]*?)\4""")
"""A key and value of TOML, on one line."""


def hide_secrets(config: str) -> str:
    """Return the text of a changefeed.toml with secrets masked, including those in URIs."""

    def hidden(match: re.Match[str]) -> str:
        head, _, name, quote, value = match.groups()
        return f"{head}{quote}{HIDDEN if is_secret(name) else mask_secrets(value)}{quote}"

    return VALUE.sub(hidden, config)


def tag_and_architecture(release: Release) -> tuple[str, str]:
    architecture, _, tag = full_name(release).partition(":")
    return tag, architecture


def read(directory: Path) -> Truth:
    """Read the metadata; raises UserError for a directory that is no truth."""
    file = directory / FILE
    if file not in directory_entries(directory):
        why = f"it has no {FILE}, which --truth of run, diff and load writes"
        raise UserError(f"{directory} is no truth: {why}")
    text = read_text(file)
    try:
        document = parse_json(text)
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}") from None
    return _about(directory, document)


def _about(directory: Path, document: Any) -> Truth:
    names = [each.name for each in fields(TruthMetadata)]
    if isinstance(document, dict):
        document.setdefault("time_zone", "")
        document.setdefault("added_columns", {})
        document.setdefault("grown", {})
    if not isinstance(document, dict) or document.get("version") != VERSION or not set(names) <= document.keys():
        raise UserError(
            f"{directory / FILE} is not what this release of ticdc-sim writes (version {VERSION}): "
            "let the run write its truth again"
        )
    for each in fields(TruthMetadata):
        if each.name != "statements" and not FIELD_CHECKS[str(each.type)](document[each.name]):
            raise UserError(
                f"{directory / FILE}: {each.name} is {json.dumps(document[each.name])[:LONG]}, which a run does not "
                "write: let it write its truth again"
            )
    for topic, count in document["topics"].items():
        try:
            limits.check_partitions(topic, count)
        except UserError as error:
            raise UserError(f"{directory / FILE}: {error}") from None
    for name in ("start_ts", "watermark", "final_watermark"):
        if document[name] > tso.FOREVER:
            raise UserError(f"{directory / FILE}: {name} {document[name]} is no TSO: at most {tso.FOREVER} is")
    try:
        releases.find(document["release"], document["architecture"])
    except UserError as error:
        raise UserError(f"{directory / FILE}: {error}") from None
    try:
        to_time_zone(document["time_zone"])
    except UserError as error:
        raise UserError(f"{directory / FILE}: time_zone: {error}") from None
    try:
        statements = read_statements(document["statements"])
    except ValueError as error:
        raise UserError(f"{directory / FILE}: statements: {error}; let the run write its truth again") from None
    values = {name: document[name] for name in names} | {"statements": statements}
    values |= read_sums(document)
    return Truth(**{**values, **{name: tuple(values[name]) for name in ("empty", "emptied")}}, directory=directory)


def _with_origin_defaults(table: Table, added: Mapping[str, Mapping[str, str]]) -> Table:
    defaults = added.get(f"{table.schema}.{table.name}", {})
    columns = tuple(replace(column, origin_default=defaults.get(column.name)) for column in table.columns)
    return replace(table, columns=columns) if defaults else table


LONG = 60
"""Characters of a wrong value that are shown."""


def _is_number(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_sum(value: object) -> bool:
    members = {each.name for each in fields(ChangeSum)}
    return isinstance(value, dict) and value.keys() == members and all(map(_is_number, value.values()))


def _is_numbers_by_time(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(steps, dict) and all(ts.isdecimal() and _is_number(count) for ts, count in steps.items())
        for steps in value.values()
    )


def _is_text_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


FIELD_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": _is_number,
    "Mapping[str, str]": _is_text_by_name,
    "Mapping[str, Mapping[str, str]]": lambda value: (
        isinstance(value, dict) and all(map(_is_text_by_name, value.values()))
    ),
    "Mapping[str, Mapping[str, int]]": _is_numbers_by_time,
    "Mapping[str, ChangeSum]": lambda value: isinstance(value, dict) and all(map(_is_sum, value.values())),
    "Mapping[str, int]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
}
"""Checks a value by the field's type."""


FEW = 5
"""Number of names that are listed."""


@dataclass(frozen=True)
class Truth(TruthMetadata):
    """The metadata of a truth that was read."""

    directory: Path = Path()

    def start_tables(self) -> tuple[Table, ...]:
        """Return the tables at the start of the stream; raises UserError for a text that defines none."""
        try:
            tables = tables_of(self.definitions).values()
        except ValueError as error:
            raise UserError(f"{self.directory / FILE}: {error}; let the run write its truth again") from None
        return tuple(_with_origin_defaults(table, self.added_columns) for table in tables)

    def check_topics(self, actual: Mapping[str, int]) -> None:
        """Raise UserError if the source has other topics or more partitions than the run; `actual` has the partitions of
        each topic."""
        missing, other = sorted(self.topics.keys() - actual.keys()), sorted(actual.keys() - self.topics.keys())
        if missing and other:
            raise self._of_other_run(
                f"that one wrote to {_name_list(missing)}, and these are messages of {_name_list(other)}"
            )
        if missing:
            raise self._of_other_run(f"that one wrote to {_name_list(missing)}, too, which SOURCE does not have")
        if other:
            raise self._of_other_run(f"that one did not write to {_name_list(other)}, which SOURCE has")
        for topic, count in self.topics.items():
            if actual[topic] > count:
                raise self._of_other_run(
                    f"that one wrote to {counted(count, 'partition')} of {topic}, which has {actual[topic]}"
                )

    def check_times(self, first: int, last: int) -> None:
        """Raise UserError if all row changes, which lie between `first` and `last`, are outside the time of the run. Without
        commit-ts in messages, the times are known to the millisecond."""
        if tso.physical(last) < tso.physical(self.start_ts) or first > self.final_watermark:
            raise self._of_other_run(
                f"that one lasted from {tso.describe(self.start_ts)} to {tso.describe(self.final_watermark)}, "
                f"and the row changes here lie from {tso.describe(first)} to {tso.describe(last)}"
            )

    def check_tables(self, known: Iterable[Name], rows: Iterable[Name]) -> None:
        """Raise UserError if no table with row changes is known from the truth or a statement."""
        here, present = sorted(set(rows)), sorted(set(known))
        if here and not {object_key(*name) for name in here} & {object_key(*name) for name in present}:
            raise self._of_other_run(
                f"that one has {_name_list(map('.'.join, present)) or 'no tables'}, and these are rows of "
                f"{_name_list(map('.'.join, here))}"
            )

    def check_files(self, files: Mapping[Name, int]) -> None:
        """Raise UserError if the truth lost a file; `files` has the number of row files of each table."""
        present = {object_key(*name): count for name, count in files.items()}
        for table, rows in self.rows.items():
            name = object_key(*table.split(".", 1))
            if name not in present:
                raise self._damaged(f"it has no definition of {table}")
            if rows and not present[name]:
                raise self._damaged(f"it has no file with the {counted(rows, 'row')} of {table}")

    def check_rows(self, actual: Mapping[str, int]) -> None:
        """Raise UserError if the truth lost or gained rows; `actual` has the rows that were read of each table."""
        for table, rows in actual.items():
            if self.rows.get(table, rows) != rows:
                raise self._damaged(
                    f"{table} has {counted(rows, 'row')}, and had {self.rows[table]:,} when it was written"
                )

    def _damaged(self, why: str) -> UserError:
        return UserError(
            f"the truth in {self.directory} is not as it was written: {why}; let the run write its truth again"
        )

    def _of_other_run(self, why: str) -> UserError:
        return UserError(f"{self.directory} is the truth of another run: {why}")


def _name_list(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - FEW} more" if len(every) > FEW else ""
    return f"{', '.join(every[:FEW])}{more}"
