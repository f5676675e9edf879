"""The text that TiCDC sends for a job's query, by release: as typed, with features marked, or parsed and restored.

Statements that TiCDC rewrites are rewritten before. TiDB's features are marked, i.e. put into comments, by a search
for their words (TiDB: sessionctx/binloginfo/binloginfo.go AddSpecialComment,
types/parser_driver/special_cmt_ctrl.go).

The new architecture sends CREATE VIEW with the query that TiDB stores, if it has a table of another database than the
view's, or a column qualified by a table name. Its tables then have their databases and its fields an alias. `*`
stays, although TiDB would expand it. Sources: ticdc v8.5.7 pkg/common/event/ddl_query_normalizer.go; tidb
pkg/planner/core/logical_plan_builder.go addAliasName, pkg/ddl/create_table.go BuildViewInfo.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import sqlglot
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import DdlError, SchemaError
from simulator.limits import counted
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.execute import execute, execute_batch
from simulator.tidb.ddl.grammar import soft_delete_options
from simulator.tidb.ddl.session import ExecutionResult, Session
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl import parse_ddl_script, parse_errors
from simulator.tidb.parser.query import parse_query
from simulator.tidb.parser.script import parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore import quote_name
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.syntax.definitions import CreateTable, KeyDefinition, Statement
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.statements import CreateIndex, CreateView

SHARDS = (r"(?ai)(?P<mark>SHARD_ROW_ID_BITS\s*=\s*\d+\s*)", r"(?ai)(?P<mark>PRE_SPLIT_REGIONS\s*=\s*\d+\s*)")
FEATURES = (
    ("auto_rand", r"(?ai)(?P<mark>AUTO_RANDOM\b\s*(\s*\(\s*\d+\s*\)\s*)?)"),
    ("auto_id_cache", r"(?ai)(?P<mark>AUTO_ID_CACHE\s*=?\s*\d+\s*)"),
    ("auto_rand_base", r"(?ai)(?P<mark>AUTO_RANDOM_BASE\s*=?\s*\d+\s*)"),
    ("clustered_index", r"(?ai)(PRIMARY)?\s+KEY(\s*\(.*\))?\s+(?P<mark>(NON)?CLUSTERED\b)"),
    ("force_inc", r"(?ai)(?P<mark>FORCE)\b\s*AUTO_INCREMENT\s*"),
)


def sent_text(query: str, release: Release, charset: str = "", sql_mode: frozenset[str] = frozenset()) -> str:
    """Return the text that the release sends for the query of a job; empty if nothing is left of it.

    `charset` is the job's, utf8mb4 if empty: the introducer of strings in releases that use it. `sql_mode` is the one
    that the release reads the query by. Raise DdlError if TiCDC stops: `parser:1064` for text that it cannot parse,
    `CDC:ErrUnexpected` for several statements in classic TiCDC (tiflow cdc/owner/ddl_sink.go addSpecialComment; ticdc
    logservice/schemastore/utils.go).
    """
    if release.ddl_text == "raw":
        return query
    if release.ddl_text == "marked":
        return _mark_features(query, release.ddl_mark)
    statements = parse_ddl_script(query, charset if release.ddl_text_charset else "", sql_mode)
    if len(statements) != 1 and not (statements and release.ddl_text_joined):
        raise DdlError(
            f"invalid ddlQuery statement size: {counted(len(statements), 'statement')}; one is accepted",
            "CDC:ErrUnexpected",
        )
    if release.soft_deletes and any(True for each in statements for _ in soft_delete_options(each)):
        return _unread_text(query, statements, release)
    if not release.parses_index_splits and any(key.options.pre_split for each in statements for key in _keys(each)):
        text = f"TiCDC {release.name} cannot parse PRE_SPLIT_REGIONS of an index, and stops (tiflow issue 11927)"
        raise DdlError(text)
    return ";".join(
        restore_statement(
            statement, release.ddl_text_placement, release.ddl_text_ttl_off, release.ddl_text_default_parentheses
        )
        for statement in statements
    )


def _unread_text(query: str, statements: Sequence[syntax.Statement], release: Release) -> str:
    """Return the query of a job with options of soft deletes, which TiCDC's parser does not know: it is sent as it is, but
    for CREATE TABLE. Raise DdlError for that, which is parsed again, in vain and for ever (ticdc v26.3.1
    logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventCommon, buildDDLEventForNewTableDDL;
    its master passes such text on)."""
    if any(isinstance(each, syntax.CreateTable) for each in statements):
        raise DdlError(
            f"TiCDC {release.name} cannot parse SOFTDELETE and ACTIVE_ACTIVE of CREATE TABLE, and its checkpoint stays; "
            "accepted: in comments that it skips, as SHOW CREATE TABLE has them, or of the database"
        )
    return query


def _keys(statement: syntax.Statement) -> tuple[syntax.KeyDefinition, ...]:
    match statement:
        case syntax.CreateIndex(_, key):
            return (key,)
        case syntax.CreateTable():
            return statement.keys
        case syntax.AlterTable(_, specs):
            added = (spec.keys for spec in specs if isinstance(spec, syntax.AddColumns))
            return (*(spec.key for spec in specs if isinstance(spec, syntax.AddKey)), *chain.from_iterable(added))
    return ()


def _mark_features(query: str, opening: str) -> str:
    """Return the query with its features marked, or unchanged if it has a mark already.

    `opening` is the mark of SHARD_ROW_ID_BITS and PRE_SPLIT_REGIONS.
    """
    if opening in query or "/*T!" in query:
        return query
    query = _move_to_comment(query, opening, SHARDS)
    for feature, pattern in FEATURES:
        query = _move_to_comment(query, f"/*T![{feature}]", (pattern,))
    return query


def _move_to_comment(query: str, opening: str, patterns: Iterable[str]) -> str:
    """Move all matches of the patterns into one comment at the position of the first."""
    matches: list[str] = []
    first = len(query)
    for pattern in patterns:
        while match := re.search(pattern, query):
            start, end = match.span("mark")
            matches.append(query[start:end])
            first = min(first, start)
            query = query[:start] + query[end:]
    if not matches:
        return query
    comment = opening
    for text in (*matches, "*/"):
        comment += text if comment.endswith(" ") else f" {text}"
    rest = query[first:]
    return f"{query[:first]}{comment} {rest}" if rest else query[:first] + comment


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


Insertion = tuple[int, str]
"""A position in the text, and the text to insert there."""


def qualify_view_query(statement: CreateView, schema: str, database: str) -> CreateView:
    """Return the statement with TiDB's query, or unchanged; `schema` is the view's, `database` the current one."""
    text = statement.query.text
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        tables, columns = list(_tables(tree, database)), list(_columns(tree, database))
        if not columns and all((table.db or database).lower() == schema.lower() for table, _ in tables):
            return statement
        added = [insertion for _, insertion in tables if insertion] + columns + list(_aliases(tree, text))
        written = _inserted(text, added)
        return replace(statement, query=parse_tokens(written, tokenize(written), parse_query))
    except (SqlglotError, SchemaError, RecursionError, KeyError):
        return statement


def _tables(tree: exp.Expr, database: str) -> Iterator[tuple[exp.Table, Insertion | None]]:
    """Yield each table that is no common table expression, with the insertion of its missing database."""
    common = {expression.alias.lower() for expression in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and (table.db or table.name.lower() not in common):
            yield table, None if table.db else (_start(table.this), f"{quote_name(database)}.")


def _columns(tree: exp.Expr, database: str) -> Iterator[Insertion]:
    """Yield the database of each column that is qualified by the name of a table of its own SELECT."""
    for column in tree.find_all(exp.Column):
        name = column.args.get("table")
        if isinstance(name, exp.Identifier) and not column.db:
            schema = _schemas(column.parent_select, database).get(name.name.lower())
            if schema:
                yield _start(name), f"{quote_name(schema)}."


def _schemas(select: exp.Expr | None, database: str) -> dict[str, str]:
    """Return the database of the tables that a SELECT reads without an alias, by name; empty for an ambiguous name."""
    schemas: dict[str, str] = {}
    for table in _sources(select) if isinstance(select, exp.Select) else ():
        name = table.name.lower()
        schemas[name] = "" if name in schemas else table.db or database
    aliases = {table.alias.lower() for table in _sources(select, True)} if isinstance(select, exp.Select) else set()
    return {name: schema for name, schema in schemas.items() if name not in aliases}


def _sources(select: exp.Select, aliased: bool = False) -> Iterator[exp.Table]:
    """Yield the tables in FROM and JOIN, either those with an alias or those without."""
    begin = select.args.get("from_") or select.args.get("from")
    joins = [*([begin] if begin else []), *(select.args.get("joins") or [])]
    for table in (join.this for join in joins):
        if isinstance(table, exp.Table) and bool(table.alias) == aliased:
            yield table


def _aliases(tree: exp.Expr, text: str) -> Iterator[Insertion]:
    """Yield the alias of each field of the outermost SELECT that has none: a column's name, else the field's text."""
    if not isinstance(tree, exp.Select) or tree.args.get("with_") or tree.args.get("with"):
        return
    places = list(_fields(text))
    if len(places) != len(tree.selects):
        return
    for field, (start, stop) in zip(tree.selects, places, strict=True):
        if not isinstance(field, exp.Alias) and not field.is_star:
            yield stop, f" AS {quote_name(field.name if isinstance(field, exp.Column) else text[start:stop])}"


def _fields(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the fields of the first SELECT."""
    depth, start, last = 0, -1, 0
    for token in tokenize(text)[1:]:
        word = token.text.upper()
        if start < 0 and word in ("DISTINCT", "ALL", "DISTINCTROW"):
            continue
        if depth == 0 and word in (",", "FROM", "WHERE", "LIMIT", "ORDER BY"):
            yield start, last
            if word != ",":
                return
            start = -1
            continue
        start, last = token.start if start < 0 else start, token.end + 1
        depth += {"(": 1, ")": -1}.get(word, 0)
    yield start, last


def _start(name: exp.Identifier) -> int:
    return int(name.meta["start"])


def _inserted(text: str, added: list[Insertion]) -> str:
    """Insert everything, from the end so that positions stay valid."""
    for at, inserted in sorted(added, reverse=True):
        text = text[:at] + inserted + text[at:]
    return text
