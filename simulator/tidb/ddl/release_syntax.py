"""Syntax of DDL that the parser of some releases of TiDB lacks.

Our parser reads the grammar of the newest release. What a statement has beyond its own release is found here, before
anything is executed: a syntax error neither commits the open transaction nor queues a job (tidb pkg/parser/parser.y).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.definitions.keys import COLUMNAR_KINDS
from simulator.tidb.errors import converting_errors, syntax_error
from simulator.tidb.parser.ddl.options import SOFT_DELETE_OPTIONS, begins_option, parse_option
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import QUOTED, tokenize

AnyStatement = TypeVar("AnyStatement", bound=syntax.Statement)

SOFT_DELETE_COMMENT = re.compile(rf"{QUOTED}|/\*T!\[(?:softdelete|active_active)\](?P<options>.*?)\*/", re.DOTALL)
"""A text, a name, a comment, or one that TiDB executes with options of soft deletes in it, and TiCDC does not."""

SOFT_DELETE_WORD = re.compile(
    rf"{QUOTED}|(?P<option>\b(?:{'|'.join(SOFT_DELETE_OPTIONS)})\b)", re.DOTALL | re.IGNORECASE
)
"""A text, a name, a comment, or the name of an option of soft deletes."""


def has_soft_delete_options(text: str) -> bool:
    """Return whether a CREATE TABLE has options of soft deletes, maybe in comments."""
    return any(each["option"] for each in SOFT_DELETE_WORD.finditer(text))


def read_syntax(statement: AnyStatement, text: str, release: Release) -> AnyStatement:
    """Return a statement as the release's parser reads it: with the options of soft deletes in comments.

    Raise DdlError for a statement that the parser does not take.
    """
    option = next((each.name for each in soft_delete_options(statement)), "")
    if option and not release.soft_deletes:
        raise syntax_error(f"there is no option {option} in this release")
    check_syntax(statement, release)
    return _with_commented_options(statement, text) if release.soft_deletes else statement


def _with_commented_options(statement: AnyStatement, text: str) -> AnyStatement:
    comments = [each["options"] for each in SOFT_DELETE_COMMENT.finditer(text) if each["options"]]
    if not comments:
        return statement
    words = " ".join(comments)
    with converting_errors("parser:1064"):
        options = parse_tokens(words, tokenize(words), lambda cursor: cursor.list_while(begins_option, parse_option))
    if isinstance(statement, syntax.CreateDatabase | syntax.AlterDatabase | syntax.CreateTable):
        return replace(statement, options=(*statement.options, *options))
    if isinstance(statement, syntax.AlterTable):
        return replace(statement, specs=(*statement.specs, syntax.SetOptions(options)))
    return statement


def check_syntax(statement: syntax.Statement, release: Release) -> None:
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


def soft_delete_options(statement: syntax.Statement) -> Iterator[syntax.TableOption]:
    """Yield the options of soft deletes of a statement."""
    options: list[syntax.TableOption] = []
    if isinstance(statement, syntax.CreateDatabase | syntax.AlterDatabase | syntax.CreateTable):
        options += statement.options
    for spec in _specs(statement):
        options += spec.options if isinstance(spec, syntax.SetOptions) else ()
    return (option for option in options if option.name in SOFT_DELETE_OPTIONS)


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
