"""The expression trees of TiDB's parser. A node has everything that TiDB writes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple, replace


class Node(Struct, frozen=True):
    """A part of an expression."""


class Literal(Node, frozen=True):
    kind: str
    """`string`, `integer`, `decimal`, `float`, `hex`, `bit`, `boolean`, `null`, `date`, `time` or `timestamp`."""

    text: str = ""
    """The value: a string without its quotes, hexadecimal or binary digits, or a number as TiDB writes it."""

    charset: str = ""
    """The introducer of a string, in lower case, written or implied. Empty if TiDB writes none."""

    introduced: bool = False
    """Whether the introducer is written: `_latin1'a'`."""


class TableName(NamedTuple):
    schema: str
    """Empty if the statement does not qualify the name."""

    name: str


class ColumnName(Node, frozen=True):
    parts: tuple[str, ...]
    """The column's own name is the last part."""


class Word(Node, frozen=True):
    """A keyword as an argument: a unit of time, a direction."""

    text: str


class Unary(Node, frozen=True):
    operator: str
    """`-`, `+`, `~`, `!`, `NOT` or `BINARY`."""

    operand: Node


class Binary(Node, frozen=True):
    operator: str
    """As TiDB spells it: `AND`, `!=`, `DIV`, `%`, `<<`, …"""

    left: Node
    right: Node


class Call(Node, frozen=True):
    name: str
    """TiDB's name of the function in upper case: INSERT_FUNC for INSERT, CHAR_FUNC for CHAR."""

    arguments: tuple[Node, ...] = ()
    schema: str = ""


class Cast(Node, frozen=True):
    operand: Node
    type: str
    """As TiDB writes it: `SIGNED`, `CHAR(3)`, `DECIMAL(10, 2)`, `UNSIGNED ARRAY`, …"""

    convert: bool = False
    """Whether it is CONVERT(x, type) instead of CAST(x AS type)."""


class Case(Node, frozen=True):
    value: Node | None
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


class Between(Node, frozen=True):
    operand: Node
    low: Node
    high: Node
    negated: bool = False


class In(Node, frozen=True):
    operand: Node
    candidates: tuple[Node, ...]
    negated: bool = False


class PatternMatch(Node, frozen=True):
    operator: str
    """LIKE, ILIKE or REGEXP."""

    operand: Node
    pattern: Node
    escape: str = "\\"
    negated: bool = False


class Is(Node, frozen=True):
    operand: Node
    test: str
    """NULL, TRUE or FALSE."""

    negated: bool = False


class Collate(Node, frozen=True):
    operand: Node
    collation: str


class Parenthesised(Node, frozen=True):
    inner: Node


class RowExpression(Node, frozen=True):
    items: tuple[Node, ...]


class ContextExpression(Node, frozen=True):
    """An expression that one row does not determine: it depends on its query or on the session."""

    restored: str
    """As TiDB writes it back."""

    kind: str
    """`a subquery`, `an aggregate function`, …"""

    tree: object = None
    """A tree of `syntax.queries` for the SQL engine. None for what is not simulated."""


class Parameter(Node, frozen=True):
    """An integer that each execution of a kept plan has anew."""


def walk(node: object) -> Iterator[Node]:
    """Yield the nodes of an expression, or of a tuple, in the order of the text. Queries inside of it are not entered."""
    return (part for part in parts_of(node, Node) if isinstance(part, Node))


def parts_of(tree: object, entered: type[Struct] = Struct) -> Iterator[object]:
    """Yield a tree and all parts of it in the order of the text; of trees, only those of a class are entered."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, entered):
            waiting += reversed(astuple(part))
        elif isinstance(part, tuple):
            waiting += reversed(part)


def replace_parts(tree: Any, change: Callable[[Any], object], entered: type[Struct] = Struct) -> Any:
    """Return a tree with the replacements of `change`, which returns None for a tree that stays; only those of a class are
    entered."""
    if isinstance(tree, entered):
        replacement = change(tree)
        if replacement is not None:
            return replacement
        parts = astuple(tree)
    elif isinstance(tree, tuple):
        parts = tree
    else:
        return tree
    replaced = tuple([replace_parts(part, change, entered) for part in parts])
    if all(map(is_, replaced, parts)):
        return tree
    if isinstance(tree, tuple):
        return replaced
    return replace(tree, **dict(zip(tree.__struct_fields__, replaced, strict=True)))


def names_in(node: Node) -> tuple[ColumnName, ...]:
    """Return every column name in the expression, with repetitions, without those in context expressions."""
    return tuple(part for part in walk(node) if isinstance(part, ColumnName))
