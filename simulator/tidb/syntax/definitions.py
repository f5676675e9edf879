"""Definitions of columns and keys, as written, before TiDB's defaults are filled in.

The trees keep everything that a statement says, in its order. `at` fields are offsets in the text, for error messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct


class Statement(Struct, frozen=True):
    """A DDL statement."""


class TableName(NamedTuple):
    schema: str
    """Empty if the statement does not qualify the name."""

    name: str


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
