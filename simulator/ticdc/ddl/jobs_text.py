"""A text as jobs: what `jobs` does for a statement, for whatever stands in the text of a job.

One law: the text of a job is one statement, or CREATE TABLE several times.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.jobs import Job, NONE_DROPPED, batch, jobs
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.read import read_statements, reading
from simulator.tidb.parser.texts import read, statements
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.definitions import KeySyntax, TableName
from simulator.tidb.syntax.statements import CreateIndex, CreateTable, Statement


def text_jobs(
    text: str, database: str, catalog: Catalog | None, release: Release,
    dropped: Mapping[int, TableName] = NONE_DROPPED,
) -> tuple[Job, ...]:
    """The jobs of a text, none for an empty one.

    Several CREATE TABLE are one job, as restoring tools queue it. Raises DdlError: `parser:1064` for what cannot be
    read, no code for what is not DDL, TiDB's for what it refuses, CDC:ErrUnexpected for any other two statements,
    which TiCDC takes for one job's text and fails on (tiflow v8.5.3: cdc/owner/ddl_sink.go addSpecialComment).
    """
    found = text_statements(text, release)
    if not found:
        return ()
    if len(found) == 1:
        return jobs(found[0], text, database, catalog, release, dropped)
    tables = [one for one in found if isinstance(one, CreateTable)]
    if len(tables) < len(found):
        raise DdlError("invalid ddlQuery statement size", "CDC:ErrUnexpected")
    return (batch(tables, text, database, catalog, release),)


def text_statements(text: str, release: Release) -> tuple[Statement, ...]:
    """The statements of a text, with CREATE HYBRID INDEX where the release knows it; raises DdlError."""
    hybrid = actions.CREATE_HYBRID_INDEX in release.allowed_ddl
    if not hybrid or not text.strip().upper().startswith("CREATE HYBRID INDEX"):
        return read_statements(text)
    with reading():
        return tuple(read(text, tokens, _hybrid_index) for tokens in statements(tokenize(text)))


def _hybrid_index(parser: Cursor) -> CreateIndex:
    """CREATE HYBRID INDEX name ON table …, whose rest is TiDB's alone."""
    parser.expect("CREATE HYBRID INDEX")
    name = parser.name("an index name")
    parser.expect("ON")
    table = TableName(*parser.qualified_name("a table name"))
    while not parser.at_end():
        parser.take()
    return CreateIndex(table, KeySyntax("columnar", name, ()))
