"""The trees of queries and of statements that change rows: SELECT, set operations, WITH, INSERT, UPDATE, DELETE.

Source: tidb pkg/parser/ast/dml.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import ColumnName, Node


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
    """The alias, else TiDB's name: the column's own name, or the text of the expression as written."""


@dataclass(frozen=True)
class TableSource:
    name: TableName
    alias: str = ""
    partitions: tuple[str, ...] = ()
    """The names in PARTITION (…). Empty for all partitions."""

    as_of: Node | None = None
    """The moment after AS OF TIMESTAMP."""


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
    """INNER (also for a comma and CROSS JOIN), LEFT or RIGHT."""

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
    rollup: bool = False
    """WITH ROLLUP."""

    having: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    distinct: bool = False
    windows: tuple[tuple[str, WindowSpec], ...] = ()
    """The names and windows of the WINDOW clause."""

    unsupported: tuple[str, ...] = ()
    """Clauses that are not simulated: `INTO OUTFILE`, …"""

    counts_rows: bool = False
    """Whether it has SQL_CALC_FOUND_ROWS, which does nothing."""

    lock: str = ""
    """`FOR UPDATE`, `FOR UPDATE NOWAIT`, `FOR SHARE`, …; it matters only among several sessions."""


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
    """Whether its query refers to the table itself."""


@dataclass(frozen=True)
class WithTree:
    tables: tuple[CommonTable, ...]
    recursive: bool
    query: QueryTree


QueryTree = SelectTree | ValuesTree | SetOperation | WithTree


# -- the trees of context expressions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subquery:
    """A query as a value, or as the rows of IN."""

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
    """ANY or ALL; empty for a row that is compared with the only row of a query."""

    query: QueryTree


@dataclass(frozen=True)
class Aggregate:
    name: str
    """In upper case: COUNT, SUM, GROUP_CONCAT, …"""

    arguments: tuple[Node, ...]
    """Empty for COUNT(*)."""

    distinct: bool = False
    order: tuple[OrderItem, ...] = ()
    separator: str = ","


@dataclass(frozen=True)
class WindowSpec:
    """The window after OVER, or of the WINDOW clause."""

    partition: tuple[Node, ...] = ()
    order: tuple[OrderItem, ...] = ()
    frame: str = ""
    """The SQL text: `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`."""

    base: str = ""
    """The name of the window that it extends."""


@dataclass(frozen=True)
class WindowFunction:
    """`function(…) OVER window`, of an aggregate or a window function."""

    function: Aggregate
    window: WindowSpec
    unsupported: str = ""
    """Options that are not simulated: FROM LAST, IGNORE NULLS."""


@dataclass(frozen=True)
class Variable:
    name: str
    """Without its @ or @@."""

    scope: str = ""
    """`user`, or `session`, `global` or empty for a system variable."""


@dataclass(frozen=True)
class SequenceCall:
    """NEXTVAL(s), NEXT VALUE FOR s, LASTVAL(s), SETVAL(s, value)."""

    function: str
    sequence: TableName
    value: int = 0


@dataclass(frozen=True)
class AssignedVariable:
    """`@name := value`."""

    name: str
    value: Node


@dataclass(frozen=True)
class DefaultValue(Node):
    """DEFAULT as a value, or DEFAULT(column)."""

    column: ColumnName | None = None


@dataclass(frozen=True)
class InsertedValue(Node):
    """VALUES(column) of ON DUPLICATE KEY UPDATE."""

    column: ColumnName


@dataclass(frozen=True)
class Assignment:
    column: ColumnName
    value: Node


@dataclass(frozen=True)
class Insert:
    """INSERT or REPLACE. SET a = 1, b = 2 becomes columns and one row."""

    table: TableName
    columns: tuple[str, ...] | None
    """None for all columns of the table."""

    rows: tuple[tuple[Node, ...], ...] | None
    """None if a query provides the rows. An empty row means defaults for all columns."""

    query: QueryTree | None = None
    on_duplicate: tuple[Assignment, ...] = ()
    ignore: bool = False
    replace: bool = False
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    source: Source
    """A TableSource if the UPDATE has one table, else a Join."""

    assignments: tuple[Assignment, ...]
    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    common: WithTree | None = None


@dataclass(frozen=True)
class Delete:
    source: Source
    targets: tuple[TableName, ...] = ()
    """The tables (or aliases) whose rows a multi-table DELETE deletes. Empty for a single table."""

    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    partitions: tuple[str, ...] = ()
    common: WithTree | None = None


@dataclass(frozen=True)
class RecoverValues:
    """RECOVER VALUES, which takes back soft deletes."""

    source: TableSource
    where: Node | None = None
    ignore: bool = False


RowStatement = Insert | Update | Delete | RecoverValues
