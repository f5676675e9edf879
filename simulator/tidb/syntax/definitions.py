"""Definitions of tables, their columns, keys, options and partitions, as written, before TiDB's defaults are filled in.

The trees keep everything that a statement says, in its order. `at` fields are offsets in the text, for error messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.queries import QueryTree


class Statement(Struct, frozen=True):
    """A DDL statement."""


Pair = tuple[TableName, TableName]
"""Old and new name, both with their schema."""


class Expression(Struct, frozen=True):
    text: str
    """As written."""

    restored: str
    """As TiDB writes it back."""


class FieldType(Struct, frozen=True):
    name: str
    """TiDB's name of the type: `int` for INTEGER, `char` for BINARY."""

    spelled: str
    """As written."""

    at: int
    length: int = -1
    decimal: int = -1
    elements: tuple[str, ...] = ()
    unsigned: bool = False
    zerofill: bool = False
    charset: str = ""
    binary_collation: bool = False
    """Whether the attribute BINARY follows (`VARCHAR(8) BINARY`), which means the charset's default collation."""


NOW = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW")
TODAY = ("CURRENT_DATE", "CURDATE")
"""The names of the functions of a column's default."""


class ColumnDefault(Struct, frozen=True):
    kind: str
    """`null`, `string`, `number`, `hex`, `bit`, `boolean` or `expression`."""

    text: str
    """The literal without its quotes, or the SQL text of the expression."""

    restored: str = ""
    """The text that TiDB writes after DEFAULT."""

    parenthesised: bool = False
    """Whether the literal or the column name is in parentheses."""


def literal_bytes(kind: str, digits: str) -> bytes:
    """Return the bytes of a hexadecimal (`hex`) or binary (`bit`) literal."""
    base, width = (16, 2) if kind == "hex" else (2, 8)
    return int(digits or "0", base).to_bytes((len(digits) + width - 1) // width, "big")


class KeyPart(Struct, frozen=True):
    column: str
    """Empty for an expression."""

    length: int = -1
    expression: str = ""
    at: int = 0
    restored: str = ""
    """The expression as TiDB writes it back."""

    descending: bool = False
    qualifier: str = ""
    """`t` or `d.t` before the column's name."""


class References(Struct, frozen=True):
    """The REFERENCES clause of a foreign key."""

    table: TableName
    parts: tuple[KeyPart, ...]
    match: str = ""
    """FULL, PARTIAL, SIMPLE or empty."""

    on_delete: str = ""
    """RESTRICT, CASCADE, SET NULL, NO ACTION, SET DEFAULT or empty."""

    on_update: str = ""


class CheckDefinition(Struct, frozen=True):
    condition: Expression
    enforced: bool = True
    name: str = ""


class KeyOptions(Struct, frozen=True):
    """The options of a key. A missing option is empty or None."""

    using: str = ""
    """BTREE, HASH, RTREE, HNSW, …"""

    clustered: bool | None = None
    visible: bool | None = None
    comment: str | None = None
    scope: str = ""
    """GLOBAL, LOCAL or empty."""

    key_block_size: int | None = None
    parser: str = ""
    """The parser of WITH PARSER."""

    pre_split: str = ""
    """The restored value of PRE_SPLIT_REGIONS."""

    secondary_engine_attribute: str | None = None
    on_demand: bool = False
    """ADD_COLUMNAR_REPLICA_ON_DEMAND"""

    condition: Expression | None = None
    """The WHERE of a partial index."""


class KeyDefinition(Struct, frozen=True):
    kind: str
    """`primary`, `unique`, `key`, `foreign`, `check`, `columnar`, `vector`, `fulltext` or `spatial`."""

    name: str
    """The name after CONSTRAINT, else the key's own name, else empty."""

    parts: tuple[KeyPart, ...]
    options: KeyOptions = KeyOptions()
    at: int = 0
    if_not_exists: bool = False
    references: References | None = None
    check: CheckDefinition | None = None
    empty_name: bool = False
    """Whether the name is written as two back-quotes."""


class ColumnOption(Struct, frozen=True):
    kind: str
    """In lower case: `not null`, `null`, `default`, `on update`, `auto_increment`, `auto_random`, `primary`, `unique`,
    `comment`, `collate`, `generated`, `check`, `references`, `column_format`, `storage`, `engine_attribute`,
    `secondary_engine_attribute`. SERIAL, the type or DEFAULT VALUE, is replaced by its three options."""

    text: str = ""
    """A comment, a collation in lower case, a word in upper case, or an attribute."""

    default: ColumnDefault | None = None
    expression: Expression | None = None
    """The expression of `on update` and `generated`."""

    stored: bool = False
    """Whether a `generated` column is STORED."""

    numbers: tuple[int, ...] = ()
    """The shard bits and range bits of `auto_random`, as far as they are written."""

    clustered: bool | None = None
    """The clustering of `primary`."""

    scope: str = ""
    """The scope of `primary` and `unique`: GLOBAL, LOCAL or empty."""

    check: CheckDefinition | None = None
    references: References | None = None


class ColumnDefinition(Struct, frozen=True):
    name: str
    type: FieldType
    at: int
    options: tuple[ColumnOption, ...] = ()
    """In the order written."""

    qualifier: str = ""
    """`t` or `d.t` before the name."""

    def option(self, *kinds: str) -> ColumnOption | None:
        """Return the last option of these kinds, which is the one that counts."""
        return next((option for option in reversed(self.options) if option.kind in kinds), None)

    @property
    def null(self) -> bool | None:
        """True for NULL, False for NOT NULL, None for neither."""
        option = self.option("null", "not null")
        return option.kind == "null" if option else None

    @property
    def default(self) -> ColumnDefault | None:
        option = self.option("default")
        return option.default if option else None

    @property
    def generated(self) -> str:
        option = self.option("generated")
        return ("stored" if option.stored else "virtual") if option else ""

    @property
    def auto_increment(self) -> bool:
        return self.option("auto_increment") is not None

    def text(self, kind: str) -> str:
        """Return the text of an option or of its expression, empty without the option."""
        option = self.option(kind)
        return (option.expression.text if option.expression else option.text) if option else ""

    @property
    def keys(self) -> tuple[KeyDefinition, ...]:
        """The PRIMARY KEY and UNIQUE options as keys. A repeated PRIMARY KEY is one key, a repeated UNIQUE is two."""
        return tuple(self._keys())

    def _keys(self) -> Iterator[KeyDefinition]:
        seen: set[str] = set()
        for option in self.options:
            if option.kind == "unique" or option.kind == "primary" and option.kind not in seen:
                seen.add(option.kind)
                settings = KeyOptions(clustered=option.clustered, scope=option.scope)
                yield KeyDefinition(option.kind, "", (KeyPart(self.name, at=self.at),), settings, self.at)


class TableOption(Struct, frozen=True):
    name: str
    """In upper case, as TiDB writes it back: ENGINE, CHARSET, COLLATE, COMMENT, TTL, PLACEMENT POLICY, …"""

    value: str
    """The word, or the literal without its quotes. For TTL the interval expression as TiDB writes it back."""

    quoted: bool = False
    """Whether the value is a string literal."""

    default: bool = False
    """Whether the value is DEFAULT."""

    force: bool = False
    """Whether FORCE precedes AUTO_INCREMENT or AUTO_RANDOM_BASE."""


class PartitionDefinition(Struct, frozen=True):
    name: str
    values: tuple[tuple[str, ...], ...] = ()
    """SQL text, as in `simulator.tidb.model.table.Partition`."""

    kind: str = ""
    """`less than`, `in`, `default`, `history`, `current` or empty."""

    restored: str = ""
    """The values as TiDB writes them back: `(10)`, `(MAXVALUE)`, `((1, 2), (3, 4))`, …"""

    options: tuple[TableOption, ...] = ()
    subpartitions: tuple[PartitionDefinition, ...] = ()


class PartitionInterval(Struct, frozen=True):
    """RANGE … INTERVAL (…) [FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) …]."""

    every: Expression
    unit: str = ""
    first: Expression | None = None
    last: Expression | None = None
    null_partition: bool = False
    maxvalue_partition: bool = False
    at: int = 0
    length: int = 0
    """The length of the clause in the text."""


class PartitionMethod(Struct, frozen=True):
    """The method of partitioning: RANGE, LIST, HASH, KEY, SYSTEM_TIME."""

    kind: str
    expression: str = ""
    """The SQL text of the expression of RANGE, LIST, HASH and SYSTEM_TIME INTERVAL."""

    restored: str = ""
    """The expression or the list of columns as TiDB writes it back."""

    columns: tuple[str, ...] = ()
    unit: str = ""
    """The unit of time of SYSTEM_TIME INTERVAL."""

    limit: int = 0
    """The number of SYSTEM_TIME LIMIT."""

    linear: bool = False
    algorithm: int | None = None
    count: int = 0
    """The number of PARTITIONS or SUBPARTITIONS, 0 if it is not written."""


class PartitionClause(Struct, frozen=True):
    method: PartitionMethod
    definitions: tuple[PartitionDefinition, ...] = ()
    at: int = 0
    subpartition: PartitionMethod | None = None
    interval: PartitionInterval | None = None
    update_indexes: tuple[tuple[str, KeyOptions], ...] = ()


class EmbeddedQuery(Struct, frozen=True):
    """A query inside another statement."""

    text: str
    restored: str
    tree: QueryTree | None = None


class CreateTable(Statement, frozen=True):
    """CREATE TABLE."""

    schema: str
    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[KeyDefinition, ...]
    """Keys and constraints that are not options of a column, in the order written."""

    options: tuple[TableOption, ...]
    partitioning: PartitionClause | None = None
    at: int = 0
    temporary: str = ""
    """`local`, `global` or empty."""

    if_not_exists: bool = False
    like: TableName | None = None
    query: EmbeddedQuery | None = None
    """The query of CREATE TABLE … SELECT, which TiDB parses and refuses."""

    on_duplicate: str = ""
    """IGNORE, REPLACE or empty, before the query."""

    source_at: int = 0
    """The offset of LIKE, or of the first word before the query."""

    on_commit_delete: bool | None = None
