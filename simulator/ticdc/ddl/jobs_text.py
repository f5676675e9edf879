"""The text of a job, executed: what `execute` does for a statement, for whatever stands in the text of a job.

One law: the text of a job is one statement, or CREATE TABLE several times.
"""

from __future__ import annotations

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.execute import execute, execute_batch
from simulator.tidb.ddl.session import Executed, Session
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl import parse_ddl_script, parse_errors
from simulator.tidb.parser.splitting import parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.ddl import CreateIndex, Statement
from simulator.tidb.syntax.definitions import KeyDefinition, TableName
from simulator.tidb.syntax.tables import CreateTable


def execute_text(text: str, session: Session) -> Executed:
    """What TiDB makes of a text, nothing of an empty one.

    Several CREATE TABLE are one job, as restoring tools queue it. Raises DdlError: `parser:1064` for what cannot be
    read, no code for what is not DDL, TiDB's for what it refuses, CDC:ErrUnexpected for any other two statements,
    which TiCDC takes for one job's text and fails on (tiflow v8.5.3: cdc/owner/ddl_sink.go addSpecialComment).
    """
    found = text_statements(text, session.release)
    if not found:
        return session.nothing()
    if len(found) == 1:
        return execute(found[0], text, session)
    tables = [statement for statement in found if isinstance(statement, CreateTable)]
    if len(tables) < len(found):
        raise DdlError("invalid ddlQuery statement size", "CDC:ErrUnexpected")
    return execute_batch(tables, text, session)


def text_statements(text: str, release: Release) -> tuple[Statement, ...]:
    """The statements of a text, with CREATE HYBRID INDEX where the release knows it; raises DdlError."""
    hybrid = actions.CREATE_HYBRID_INDEX in release.allowed_ddl
    if not hybrid or not text.strip().upper().startswith("CREATE HYBRID INDEX"):
        return parse_ddl_script(text)
    with parse_errors():
        return tuple(parse_tokens(text, tokens, _hybrid_index) for tokens in split_tokens(tokenize(text)))


def _hybrid_index(parser: Cursor) -> CreateIndex:
    """CREATE HYBRID INDEX name ON table …, whose rest is TiDB's alone."""
    parser.expect("CREATE HYBRID INDEX")
    name = parser.name("an index name")
    parser.expect("ON")
    table = TableName(*parser.qualified_name("a table name"))
    while not parser.at_end():
        parser.take()
    return CreateIndex(table, KeyDefinition("columnar", name, ()))
