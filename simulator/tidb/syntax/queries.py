"""Queries as trees: what a SELECT, a set operation or a WITH says, name by name.

One law: a tree knows its text's words and nothing of tables that exist. Source: tidb pkg/parser/ast/dml.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import Node


@dataclass(frozen=True)
class OrderItem:
    expression: Node
    """An integer literal is the number of a column of the query."""

    descending: bool = False


@dataclass(frozen=True)
class Limit:
    count: int
    offset: int = 0


@dataclass(frozen=True)
class Star:
    """`*`, `t.*`, `db.t.*`."""

    table: TableName | None = None


@dataclass(frozen=True)
class SelectItem:
    expression: Node
    name: str
    """Its alias, else what TiDB calls the column: a column's own name, the text of an expression as it is written."""


@dataclass(frozen=True)
class TableSource:
    name: TableName
    alias: str = ""
    partitions: tuple[str, ...] = ()
    """Of PARTITION (…); empty for all."""


@dataclass(frozen=True)
class DerivedTable:
    query: QueryTree
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Join:
    left: Source
    right: Source
    kind: str = "INNER"
    """INNER (a comma and CROSS JOIN, too), LEFT or RIGHT."""

    on: Node | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


Source = TableSource | DerivedTable | Join


@dataclass(frozen=True)
class SelectTree:
    items: tuple[SelectItem | Star, ...]
    source: Source | None = None
    """None without FROM, or with FROM DUAL."""

    where: Node | None = None
    group_by: tuple[OrderItem, ...] = ()
    having: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    distinct: bool = False
    windows: tuple[tuple[str, WindowSpec], ...] = ()
    """Of the clause WINDOW."""

    unsupported: tuple[str, ...] = ()
    """Clauses that are not simulated: `WITH ROLLUP`, `INTO OUTFILE`, …"""


@dataclass(frozen=True)
class ValuesTree:
    """VALUES ROW(…), ROW(…)."""

    rows: tuple[tuple[Node, ...], ...]
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None


@dataclass(frozen=True)
class SetOperation:
    operator: str
    """UNION, UNION ALL, EXCEPT, EXCEPT ALL, INTERSECT or INTERSECT ALL."""

    left: QueryTree
    right: QueryTree
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None


@dataclass(frozen=True)
class CommonTable:
    name: str
    columns: tuple[str, ...]
    query: QueryTree
    recursive: bool = False
    """Whether its query names the table itself."""


@dataclass(frozen=True)
class WithTree:
    tables: tuple[CommonTable, ...]
    recursive: bool
    query: QueryTree


QueryTree = SelectTree | ValuesTree | SetOperation | WithTree


# -- what a query, an aggregate or a session answers inside an expression: the `tree` of a ContextExpression --------------------


@dataclass(frozen=True)
class Subquery:
    """A query as a value, or as the rows of IN: `In(operand, (ContextExpression(…, tree=Subquery),))`."""

    query: QueryTree


@dataclass(frozen=True)
class Exists:
    query: QueryTree
    negated: bool = False


@dataclass(frozen=True)
class Quantified:
    """`a > ANY (query)`, `a = ALL (query)`."""

    operand: Node
    operator: str
    quantifier: str
    """ANY or ALL."""

    query: QueryTree


@dataclass(frozen=True)
class Aggregate:
    name: str
    """In capitals: COUNT, SUM, GROUP_CONCAT, …"""

    arguments: tuple[Node, ...]
    """None for COUNT(*)."""

    distinct: bool = False
    order: tuple[OrderItem, ...] = ()
    separator: str = ","


@dataclass(frozen=True)
class WindowSpec:
    """What stands behind OVER."""

    partition: tuple[Node, ...] = ()
    order: tuple[OrderItem, ...] = ()
    frame: str = ""
    """As SQL has it: `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`."""

    base: str = ""
    """The window that it goes on from."""


@dataclass(frozen=True)
class WindowFunction:
    """`function(…) OVER window`: of an aggregate function, or of one for windows alone."""

    function: Aggregate
    window: WindowSpec
    unsupported: str = ""
    """Options that are not simulated: FROM LAST, IGNORE NULLS."""


@dataclass(frozen=True)
class Variable:
    name: str
    """Without its @ or @@."""

    scope: str = ""
    """`user`, or for a system variable `session`, `global` or nothing."""
