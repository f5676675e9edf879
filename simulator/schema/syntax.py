"""What a CREATE TABLE statement says, before TiDB fills in what it leaves out: a parse tree of frozen values.

One law: nothing here is interpreted; `at` fields point into the text, for error messages.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TypeSyntax:
    name: str
    """TiDB's name of the type, a synonym already replaced: `int` for INTEGER, `char` for BINARY."""

    spelled: str
    """As the statement spells it."""

    at: int
    length: int = -1
    decimal: int = -1
    elements: tuple[str, ...] = ()
    unsigned: bool = False
    zerofill: bool = False
    charset: str = ""
    binary_collation: bool = False
    """Whether the attribute BINARY follows (`VARCHAR(8) BINARY`): the charset's default collation."""


@dataclass(frozen=True)
class DefaultSyntax:
    kind: str
    """`null`, `string`, `number`, `hex`, `bit`, `boolean` or `expression`."""

    text: str
    """The literal without its quotes, or the SQL text of the expression."""


@dataclass(frozen=True)
class KeyPart:
    column: str
    """Empty for an expression."""

    length: int = -1
    expression: str = ""
    at: int = 0


@dataclass(frozen=True)
class KeySyntax:
    kind: str
    """`primary`, `unique`, `key`, `foreign`, `columnar`; or `unindexed` (FULLTEXT, SPATIAL: TiDB forgets them)."""

    name: str
    parts: tuple[KeyPart, ...]
    clustered: bool | None = None
    at: int = 0


@dataclass(frozen=True)
class ColumnSyntax:
    name: str
    type: TypeSyntax
    at: int
    null: bool | None = None
    """True for NULL, False for NOT NULL, None where the statement says neither."""

    default: DefaultSyntax | None = None
    on_update: str = ""
    generated: str = ""
    generated_expression: str = ""
    auto_increment: bool = False
    auto_random: bool = False
    comment: str = ""
    collation: str = ""
    keys: tuple[KeySyntax, ...] = ()
    """PRIMARY KEY and UNIQUE written with the column."""


@dataclass(frozen=True)
class PartitionSyntax:
    kind: str
    expression: str
    columns: tuple[str, ...]
    count: int
    """PARTITIONS n, 0 where it is not said."""

    partitions: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    """Name and values of each, as `simulator.schema.table.Partition` has them."""

    at: int = 0


@dataclass(frozen=True)
class TableSyntax:
    schema: str
    name: str
    columns: tuple[ColumnSyntax, ...]
    keys: tuple[KeySyntax, ...]
    options: tuple[tuple[str, str], ...]
    """Name in upper case and value, in the order written."""

    partitioning: PartitionSyntax | None
    at: int = 0
