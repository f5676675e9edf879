"""The text that TiCDC sends for a job's query, by release: as typed, with TiDB's features marked, or parsed and
restored.

Statements that TiCDC rewrites are rewritten before. Features are marked, i.e. put into comments, by a search for their
words (TiDB: sessionctx/binloginfo/binloginfo.go AddSpecialComment, types/parser_driver/special_cmt_ctrl.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from simulator.errors import DdlError
from simulator.quantities import counted
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.release_syntax import soft_delete_options
from simulator.tidb.parser.ddl.statements import parse_ddl_script
from simulator.tidb.restore.ddl import restore_statement

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
