"""The trees of queries and of statements that change rows: SELECT, set operations, WITH, INSERT, UPDATE, DELETE.

Source: tidb pkg/parser/ast/dml.go.
"""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.expressions import ColumnName, Node, TableName


class OrderItem(Struct, frozen=True):
    expression: Node
    """An integer literal is the number of a column of the query."""

    descending: bool = False


class Limit(Struct, frozen=True):
    count: int
    offset: int = 0


class Star(Struct, frozen=True):
    """`*`, `t.*`, `db.t.*`."""

    table: TableName | None = None


class SelectItem(Struct, frozen=True):
    expression: Node
    name: str
    """The alias, else TiDB's name: the column's own name, or the text of the expression as written."""

    anonymous: bool = False
    """Whether it is an expression without an alias."""


class TableSource(Struct, frozen=True):
    name: TableName
    alias: str = ""
    partitions: tuple[str, ...] = ()
    """The names in PARTITION (…). Empty for all partitions."""

    as_of: Node | None = None
    """The moment after AS OF TIMESTAMP."""


class DerivedTable(Struct, frozen=True):
    query: QueryTree
    alias: str
    columns: tuple[str, ...] = ()


class Join(Struct, frozen=True):
    left: Source
    right: Source
    kind: str = "INNER"
    """INNER (also for a comma and CROSS JOIN), LEFT or RIGHT."""

    on: Node | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


Source = TableSource | DerivedTable | Join


class SelectTree(Struct, frozen=True):
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


class ValuesTree(Struct, frozen=True):
    """VALUES ROW(…), ROW(…)."""

    rows: tuple[tuple[Node, ...], ...]
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None


class SetOperation(Struct, frozen=True):
    operator: str
    """UNION, UNION ALL, EXCEPT, EXCEPT ALL, INTERSECT or INTERSECT ALL."""

    left: QueryTree
    right: QueryTree
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None


class CommonTable(Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    query: QueryTree
    recursive: bool = False
    """Whether its query refers to the table itself."""


class WithTree(Struct, frozen=True):
    tables: tuple[CommonTable, ...]
    recursive: bool
    query: QueryTree


QueryTree = SelectTree | ValuesTree | SetOperation | WithTree


# -- the trees of context expressions ----------------------------------------------------------------------------------


class Subquery(Struct, frozen=True):
    """A query as a value, or as the rows of IN."""

    query: QueryTree


class Exists(Struct, frozen=True):
    query: QueryTree
    negated: bool = False


class Quantified(Struct, frozen=True):
    """`a > ANY (query)`, `a = ALL (query)`."""

    operand: Node
    operator: str
    quantifier: str
    """ANY or ALL; empty for a row that is compared with the only row of a query."""

    query: QueryTree


class Aggregate(Struct, frozen=True):
    name: str
    """In upper case: COUNT, SUM, GROUP_CONCAT, …"""

    arguments: tuple[Node, ...]
    """Empty for COUNT(*)."""

    distinct: bool = False
    order: tuple[OrderItem, ...] = ()
    separator: str = ","


class WindowSpec(Struct, frozen=True):
    """The window after OVER, or of the WINDOW clause."""

    partition: tuple[Node, ...] = ()
    order: tuple[OrderItem, ...] = ()
    frame: str = ""
    """The SQL text: `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`."""

    base: str = ""
    """The name of the window that it extends."""


class WindowFunction(Struct, frozen=True):
    """`function(…) OVER window`, of an aggregate or a window function."""

    function: Aggregate
    window: WindowSpec
    unsupported: str = ""
    """Options that are not simulated: FROM LAST, IGNORE NULLS."""


class Variable(Struct, frozen=True):
    name: str
    """Without its @ or @@."""

    scope: str = ""
    """`user`, or `session`, `global` or empty for a system variable."""


class SequenceCall(Struct, frozen=True):
    """NEXTVAL(s), NEXT VALUE FOR s, LASTVAL(s), SETVAL(s, value)."""

    function: str
    sequence: TableName
    value: int = 0


class AssignedVariable(Struct, frozen=True):
    """`@name := value`."""

    name: str
    value: Node


class DefaultValue(Node, frozen=True):
    """DEFAULT as a value, or DEFAULT(column)."""

    column: ColumnName | None = None


class InsertedValue(Node, frozen=True):
    """VALUES(column) of ON DUPLICATE KEY UPDATE."""

    column: ColumnName


class Assignment(Struct, frozen=True):
    column: ColumnName
    value: Node


class Insert(Struct, frozen=True):
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


class Update(Struct, frozen=True):
    source: Source
    """A TableSource if the UPDATE has one table, else a Join."""

    assignments: tuple[Assignment, ...]
    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    common: WithTree | None = None


class Delete(Struct, frozen=True):
    source: Source
    targets: tuple[TableName, ...] = ()
    """The tables (or aliases) whose rows a multi-table DELETE deletes. Empty for a single table."""

    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    partitions: tuple[str, ...] = ()
    common: WithTree | None = None


class RecoverValues(Struct, frozen=True):
    """RECOVER VALUES, which takes back soft deletes."""

    source: TableSource
    where: Node | None = None
    ignore: bool = False


RowStatement = Insert | Update | Delete | RecoverValues
