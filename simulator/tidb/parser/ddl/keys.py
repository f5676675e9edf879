"""Parse keys and constraints of CREATE TABLE and ALTER TABLE, and CREATE INDEX and DROP INDEX.

The last of several equal options counts, except that GLOBAL stays GLOBAL (TiDB: parser.y, IndexOptionList).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions import (
    parse_closed_parentheses,
    parse_column_name,
    parse_expression,
    parse_lock_and_algorithm,
)

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")
INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")

TABLE_ELEMENTS = {
    **{word: word.lower() for word in ("CONSTRAINT", "PRIMARY", "UNIQUE", "KEY")},
    "INDEX": "key",
    **{word: word.lower() for word in ("FOREIGN", "CHECK", "FULLTEXT", "VECTOR", "COLUMNAR")},
}
NAMED_TYPE = ("primary", "unique", "key", "vector", "columnar")
"""Kinds that may have USING before their columns."""

MAY_EXIST = ("key", "foreign", "vector", "columnar")
"""Kinds that accept IF NOT EXISTS."""


# -- parts of keys ------------------------------------------------------------------------------------------------


def parse_key_part(cursor: Cursor) -> syntax.KeyPart:
    """Parse `column [(prefix length)] [ASC | DESC]`, or an expression in parentheses."""
    at = cursor.next_token().start
    if cursor.word() == "(":
        expression = parse_closed_parentheses(cursor)
        part = syntax.KeyPart("", expression=expression.text, at=at, restored=expression.restored)
    else:
        qualifier, column = parse_column_name(cursor, "a column or an expression in parentheses")
        length = -1
        if cursor.accept("("):
            length = cursor.count("a prefix length")
            cursor.expect(")")
        part = syntax.KeyPart(column, length, at=at, qualifier=qualifier)
    return parse_direction(cursor, part)


def parse_direction(cursor: Cursor, part: syntax.KeyPart) -> syntax.KeyPart:
    """Parse an optional ASC or DESC, and return the part with it."""
    if cursor.accept("DESC"):
        return replace(part, descending=True)
    cursor.accept("ASC")
    return part


def parse_check(cursor: Cursor, name: str = "") -> syntax.CheckDefinition:
    """Parse the rest of CHECK: `(expression) [[NOT] ENFORCED]`. A NOT NULL after it is not part of it."""
    condition = parse_closed_parentheses(cursor)
    enforced = cursor.accept("ENFORCED") or not cursor.accept("NOT ENFORCED")
    return syntax.CheckDefinition(condition, enforced, name)


def parse_references(cursor: Cursor) -> syntax.References:
    """Parse the rest of REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`, the ONs in any order."""
    table = cursor.qualified_name("a table")
    parts = cursor.parenthesised_list(parse_key_part) if cursor.word() == "(" else ()
    match = cursor.one_of("FULL", "PARTIAL", "SIMPLE") if cursor.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while cursor.word() == "ON" and not all(actions.values()):
        cursor.take()
        event = cursor.one_of(*(event for event, action in actions.items() if not action))
        actions[event] = cursor.one_of(*REFERENCE_ACTIONS)
    return syntax.References(table, parts, match, actions["DELETE"], actions["UPDATE"])


# -- options ------------------------------------------------------------------------------------------------------


def parse_key_options(cursor: Cursor) -> syntax.KeyOptions:
    """Parse key options, up to the first word that is none; raises SchemaError."""
    options = syntax.KeyOptions()
    while (word := cursor.word()) in KEY_OPTIONS:
        cursor.take()
        if word in WITH_EQUALS:
            cursor.accept("=")
        options = replace(options, **KEY_OPTIONS[word](cursor, options))
    return options


def parse_pre_split(cursor: Cursor) -> str:
    """Parse `n`, `(BETWEEN (…) AND (…) REGIONS n)` or `(BY (…), …)`."""
    if not cursor.accept("("):
        return str(cursor.count())
    text = f"BY {','.join(cursor.comma_list(parse_row))}" if cursor.accept("BY") else parse_split_between(cursor)
    cursor.expect(")")
    return f"({text})"


def parse_split_between(cursor: Cursor) -> str:
    low, high = cursor.sequence("BETWEEN", parse_row, "AND", parse_row, "REGIONS")
    return f"BETWEEN {low} AND {high} REGIONS {cursor.count()}"


def parse_row(cursor: Cursor) -> str:
    """Parse `(value, …)` or `()`, and return it as TiDB writes it back."""
    if cursor.word_after() == ")" and cursor.accept("( )"):
        return "()"
    return f"({','.join(cursor.parenthesised_list(lambda cursor: parse_expression(cursor).restored))})"


def parse_parser_name(cursor: Cursor) -> str:
    cursor.expect("PARSER")
    return cursor.name("a parser")


KEY_OPTIONS: Mapping[str, Callable[[Cursor, syntax.KeyOptions], dict[str, Any]]] = {
    "KEY_BLOCK_SIZE": lambda cursor, options: {"key_block_size": cursor.count() or options.key_block_size},
    "USING": lambda cursor, _: {"using": cursor.one_of(*INDEX_TYPES)},
    "TYPE": lambda cursor, _: {"using": cursor.one_of(*INDEX_TYPES)},
    "COMMENT": lambda cursor, options: {"comment": cursor.plain_string("a comment in quotes") or options.comment or ""},
    "WITH": lambda cursor, _: {"parser": parse_parser_name(cursor)},
    "VISIBLE": lambda *_: {"visible": True},
    "INVISIBLE": lambda *_: {"visible": False},
    "CLUSTERED": lambda *_: {"clustered": True},
    "NONCLUSTERED": lambda *_: {"clustered": False},
    "GLOBAL": lambda *_: {"scope": "GLOBAL"},
    "LOCAL": lambda _, options: {"scope": options.scope or "LOCAL"},
    "PRE_SPLIT_REGIONS": lambda cursor, _: {"pre_split": parse_pre_split(cursor)},
    "SECONDARY_ENGINE_ATTRIBUTE": lambda cursor, _: {"secondary_engine_attribute": cursor.plain_string()},
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": lambda *_: {"on_demand": True},
    "WHERE": lambda cursor, _: {"condition": parse_expression(cursor)},
}
"""By first word: the fields of KeyOptions that an option sets."""

WITH_EQUALS = ("KEY_BLOCK_SIZE", "PRE_SPLIT_REGIONS", "SECONDARY_ENGINE_ATTRIBUTE")
"""The options that accept `=` before their value."""


# -- keys and constraints -----------------------------------------------------------------------------------------


def begins_key(cursor: Cursor) -> bool:
    """Whether a key or constraint comes next."""
    word = cursor.word()
    if word in ("VECTOR", "COLUMNAR"):
        return cursor.word_after() == "INDEX"
    return word in TABLE_ELEMENTS


def parse_key(cursor: Cursor) -> syntax.KeyDefinition:
    """Parse a key or constraint with its options; raises SchemaError."""
    at = cursor.next_token().start
    name = None
    if cursor.accept("CONSTRAINT") and cursor.word() not in TABLE_ELEMENTS:
        name = cursor.name("the name of a constraint")
    if not begins_key(cursor) or cursor.word() == "CONSTRAINT":
        cursor.unexpected(f"one of {', '.join(TABLE_ELEMENTS)}", TABLE_ELEMENTS)
    kind = TABLE_ELEMENTS[cursor.take()]
    if kind == "check":
        return syntax.KeyDefinition("check", name or "", (), at=at, check=parse_check(cursor, name or ""))
    if kind in ("primary", "foreign"):
        cursor.expect("KEY")
    elif kind in ("vector", "columnar"):
        cursor.expect("INDEX")
    elif kind != "key":
        cursor.accept("KEY") or cursor.accept("INDEX")
    return parse_key_body(cursor, kind, name, at)


def parse_key_body(cursor: Cursor, kind: str, constraint: str | None, at: int) -> syntax.KeyDefinition:
    """Parse `[IF NOT EXISTS] [name] [USING t] (part, …)`, then options, or REFERENCES of a foreign key.

    `constraint` is the name after CONSTRAINT, or None.
    """
    if_not_exists = kind in MAY_EXIST and cursor.accept("IF NOT EXISTS")
    own_name = None if cursor.word() in ("(", "USING") else cursor.name("the name of a key, or '('")
    name = own_name if constraint is None else constraint
    has_type = kind in NAMED_TYPE and (cursor.accept("USING") or bool(own_name) and cursor.accept("TYPE"))
    using = cursor.one_of(*INDEX_TYPES) if has_type else ""
    parts = cursor.parenthesised_list(parse_key_part)
    references, options = None, syntax.KeyOptions()
    if kind == "foreign":
        cursor.expect("REFERENCES")
        references = parse_references(cursor)
    else:
        options = parse_key_options(cursor)
    if using:
        options = replace(options, using=using)
    return syntax.KeyDefinition(kind, name or "", parts, options, at, if_not_exists, references, empty_name=name == "")


def expect_key_end(cursor: Cursor) -> None:
    """Raise SchemaError unless `,` or `)` follows."""
    if cursor.word() not in (",", ")"):
        cursor.unexpected(f"',' or ')' or one of {', '.join(KEY_OPTIONS)}", KEY_OPTIONS if cursor.word() else ())


# -- statements ---------------------------------------------------------------------------------------------------


def parse_create_index(cursor: Cursor, kind: str) -> syntax.CreateIndex:
    """Parse the rest of CREATE … INDEX."""
    at = cursor.next_token().start
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = cursor.name("the name of an index")
    using = cursor.one_of(*INDEX_TYPES) if cursor.accept("USING") or cursor.accept("TYPE") else ""
    cursor.expect("ON")
    table = cursor.qualified_name()
    parts = cursor.parenthesised_list(parse_key_part)
    options = parse_key_options(cursor)
    key = syntax.KeyDefinition(kind, name, parts, replace(options, using=options.using or using), at, if_not_exists)
    return syntax.CreateIndex(table, key, *parse_lock_and_algorithm(cursor))


def parse_drop_index(cursor: Cursor, hypothetical: bool = False) -> syntax.DropIndex:
    """Parse the rest of DROP INDEX."""
    if_exists = cursor.accept("IF EXISTS")
    name = cursor.name("the name of an index")
    cursor.expect("ON")
    table = cursor.qualified_name()
    algorithm, lock = ("", "") if hypothetical else parse_lock_and_algorithm(cursor)
    return syntax.DropIndex(table, name, if_exists, algorithm, lock, hypothetical)
