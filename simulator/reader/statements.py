"""Statements of a stream. A truth tells the tables when its stream began, and every statement since, with its message.

Texts of messages are in the form that `compare` gives them, without the time at which they were built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from simulator.errors import SchemaError
from simulator.tidb.model.table import Name, Table

IGNORED = frozenset({"build-ts", "members", "claim-check-names", "schemas"})
"""What is left out of the texts of messages (`compare.events.IGNORABLE`): two runs of one plan do not share it. Which
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
