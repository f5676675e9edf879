"""Syntax of DDL that the parser of some releases of TiDB lacks.

Our parser reads the grammar of the newest release. What a statement has beyond its own release is found here, before
anything is executed: a syntax error neither commits the open transaction nor queues a job (tidb pkg/parser/parser.y).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.definitions.keys import COLUMNAR_KINDS
from simulator.tidb.errors import error_with_text, syntax_error
from simulator.tidb.parser.ddl.options import SOFT_DELETE_OPTIONS
from simulator.tidb.parser.tokens import QUOTED

SOFT_DELETE_COMMENT = re.compile(rf"{QUOTED}|/\*T!\[(softdelete|active_active)\]", re.DOTALL)
"""A text, a name, a comment, or the beginning of one that TiDB executes with an option of soft deletes in it."""


def check_syntax(statement: syntax.Statement, text: str, release: Release) -> None:
    """Raise DdlError for a statement that the release's parser does not take, or takes and is not simulated."""
    option = next((each.name for each in _options(statement) if each.name in SOFT_DELETE_OPTIONS), "")
    if option and not release.soft_deletes:
        raise syntax_error(f"there is no option {option} in this release")
    if release.soft_deletes:
        option = option or next((each[1].upper() for each in SOFT_DELETE_COMMENT.finditer(text) if each[1]), "")
    if option:
        raise not_simulated(option)
    for key in _keys(statement):
        if key.options.pre_split and not release.index_splits:
            raise syntax_error("an index has no PRE_SPLIT_REGIONS in this release")
        # CREATE INDEX and ALTER TABLE have them in all releases (tests/vectors/facts.ddl_statements.jsonl.gz)
        if key.kind in COLUMNAR_KINDS and not release.vectors and isinstance(statement, syntax.CreateTable):
            raise syntax_error("there are no vector indexes in this release")
    for column in _columns(statement):
        if column.type.name == "vector" and not release.vectors:
            raise syntax_error("there is no type VECTOR in this release")
        parenthesised = any(option.default and option.default.parenthesised for option in column.options)
        if parenthesised and not release.default_parentheses:
            raise syntax_error("DEFAULT takes no such parentheses in this release")


def not_simulated(option: str) -> DdlError:
    return error_with_text(
        "ddl:1235",
        f"{option} is not simulated: TiDB gives such a table hidden columns and rewrites its DELETEs and queries. "
        "Accepted: tables without soft deletes, with UPDATE and DELETE as TiCDC sends them",
    )


def _options(statement: syntax.Statement) -> Iterator[syntax.TableOption]:
    if isinstance(statement, syntax.CreateDatabase | syntax.AlterDatabase | syntax.CreateTable):
        yield from statement.options
    for spec in _specs(statement):
        yield from spec.options if isinstance(spec, syntax.SetOptions) else ()


def _keys(statement: syntax.Statement) -> Iterator[syntax.KeyDefinition]:
    """Yield the keys that a statement defines."""
    if isinstance(statement, syntax.CreateTable):
        yield from statement.keys
    if isinstance(statement, syntax.CreateIndex):
        yield statement.key
    for spec in _specs(statement):
        yield from (spec.key,) if isinstance(spec, syntax.AddKey) else ()
        yield from spec.keys if isinstance(spec, syntax.AddColumns) else ()


def _columns(statement: syntax.Statement) -> Iterator[syntax.ColumnDefinition]:
    """Yield the columns that a statement defines."""
    if isinstance(statement, syntax.CreateTable):
        yield from statement.columns
    for spec in _specs(statement):
        yield from spec.columns if isinstance(spec, syntax.AddColumns) else ()
        yield from (spec.column,) if isinstance(spec, syntax.ModifyColumn | syntax.ChangeColumn) else ()


def _specs(statement: syntax.Statement) -> tuple[syntax.Spec, ...]:
    return statement.specs if isinstance(statement, syntax.AlterTable) else ()
