"""The expression trees of TiDB's parser. A node has everything that TiDB writes back."""

from __future__ import annotations

from dataclasses import dataclass, field


class Node:
    """A part of an expression."""


@dataclass(frozen=True, slots=True)
class Literal(Node):
    kind: str
    """`string`, `integer`, `decimal`, `float`, `hex`, `bit`, `boolean`, `null`, `date`, `time` or `timestamp`."""

    text: str = ""
    """The value: a string without its quotes, hexadecimal or binary digits, or a number as TiDB writes it."""

    charset: str = ""
    """The introducer of a string, in lower case, written or implied. Empty if TiDB writes none."""

    introduced: bool = False
    """Whether the introducer is written: `_latin1'a'`."""


@dataclass(frozen=True)
class ColumnName(Node):
    parts: tuple[str, ...]
    """The column's own name is the last part."""


@dataclass(frozen=True)
class Word(Node):
    """A keyword as an argument: a unit of time, a direction."""

    text: str


@dataclass(frozen=True)
class Unary(Node):
    operator: str
    """`-`, `+`, `~`, `!`, `NOT` or `BINARY`."""

    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    """As TiDB spells it: `AND`, `!=`, `DIV`, `%`, `<<`, …"""

    left: Node
    right: Node


@dataclass(frozen=True)
class Call(Node):
    name: str
    """TiDB's name of the function in upper case: INSERT_FUNC for INSERT, CHAR_FUNC for CHAR."""

    arguments: tuple[Node, ...] = ()
    schema: str = ""


@dataclass(frozen=True)
class Cast(Node):
    operand: Node
    type: str
    """As TiDB writes it: `SIGNED`, `CHAR(3)`, `DECIMAL(10, 2)`, `UNSIGNED ARRAY`, …"""

    convert: bool = False
    """Whether it is CONVERT(x, type) instead of CAST(x AS type)."""


@dataclass(frozen=True)
class Case(Node):
    value: Node | None
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


@dataclass(frozen=True)
class Between(Node):
    operand: Node
    low: Node
    high: Node
    negated: bool = False


@dataclass(frozen=True)
class In(Node):
    operand: Node
    candidates: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True)
class PatternMatch(Node):
    operator: str
    """LIKE, ILIKE or REGEXP."""

    operand: Node
    pattern: Node
    escape: str = "\\"
    negated: bool = False


@dataclass(frozen=True)
class Is(Node):
    operand: Node
    test: str
    """NULL, TRUE or FALSE."""

    negated: bool = False


@dataclass(frozen=True)
class Collate(Node):
    operand: Node
    collation: str


@dataclass(frozen=True)
class Parenthesised(Node):
    inner: Node


@dataclass(frozen=True)
class RowExpression(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True)
class ContextExpression(Node):
    """An expression that one row does not determine: it depends on its query or on the session."""

    restored: str
    """As TiDB writes it back."""

    kind: str
    """`a subquery`, `an aggregate function`, …"""

    tree: object = field(default=None, compare=False)
    """A tree of `syntax.queries` for the SQL engine. None for what is not simulated."""


@dataclass(frozen=True)
class Parameter(Node):
    """An integer that each execution of a kept plan has anew."""


def names_in(node: Node) -> tuple[ColumnName, ...]:
    """Return every column name in the expression, unordered and with repetitions, without those in context expressions."""
    names: list[ColumnName] = []
    queue: list[object] = [node]
    while queue:
        part = queue.pop()
        if isinstance(part, ColumnName):
            names.append(part)
        elif isinstance(part, tuple):
            queue += part
        elif isinstance(part, Node):
            queue += vars(part).values()
    return tuple(names)
