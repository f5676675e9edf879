"""Execution of a job's text: one statement, or several CREATE TABLE."""

from __future__ import annotations

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.execute import execute, execute_batch
from simulator.tidb.ddl.session import ExecutionResult, Session
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl.statements import parse_ddl_script, parse_errors
from simulator.tidb.parser.splitting import parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.ddl import CreateIndex
from simulator.tidb.syntax.definitions import KeyDefinition, Statement, TableName
from simulator.tidb.syntax.tables import CreateTable


def execute_text(text: str, session: Session) -> ExecutionResult:
    """Execute a text in TiDB; an empty text does nothing.

    Several CREATE TABLE are one job, as restoring tools queue it. Raise DdlError: `parser:1064` for a syntax error,
    without a code for a statement that is not DDL, TiDB's code for one that TiDB refuses, CDC:ErrUnexpected for any
    other several statements: TiCDC reads them as one job's text and fails (tiflow v8.5.3: cdc/owner/ddl_sink.go
    addSpecialComment).
    """
    parsed = parse_job_text(text, session.release)
    if not parsed:
        return session.without_jobs()
    if len(parsed) == 1:
        return execute(parsed[0], text, session)
    tables = [statement for statement in parsed if isinstance(statement, CreateTable)]
    if len(tables) < len(parsed):
        raise DdlError("invalid ddlQuery statement size", "CDC:ErrUnexpected")
    return execute_batch(tables, text, session)


def parse_job_text(text: str, release: Release) -> tuple[Statement, ...]:
    """Parse the statements of a text, including CREATE HYBRID INDEX if the release knows it; raise DdlError."""
    hybrid = Action.CREATE_HYBRID_INDEX in release.allowed_ddl
    if not hybrid or not text.strip().upper().startswith("CREATE HYBRID INDEX"):
        return parse_ddl_script(text)
    with parse_errors():
        return tuple(parse_tokens(text, tokens, _hybrid_index) for tokens in split_tokens(tokenize(text)))


def _hybrid_index(parser: Cursor) -> CreateIndex:
    """Parse CREATE HYBRID INDEX name ON table …; the rest is not interpreted."""
    parser.expect("CREATE HYBRID INDEX")
    name = parser.name("an index name")
    parser.expect("ON")
    table = TableName(*parser.qualified_name("a table name"))
    while not parser.at_end():
        parser.take()
    return CreateIndex(table, KeyDefinition("columnar", name, ()))
