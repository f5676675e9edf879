"""What a statement on tables says, before TiDB fills in what it leaves out: parse trees of frozen values.

One law: everything the statement says is kept, in its order, and nothing is interpreted; `at` fields point into the
text, for error messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class TableName(NamedTuple):
    schema: str
    """Empty where the statement does not qualify the name."""

    name: str


Pair = tuple[TableName, TableName]
"""Old and new name, both with their schema."""


@dataclass(frozen=True)
class Expression:
    text: str
    """As the statement has it."""

    restored: str
    """As TiDB writes it back."""


@dataclass(frozen=True)
class FieldType:
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
class ColumnDefault:
    kind: str
    """`null`, `string`, `number`, `hex`, `bit`, `boolean` or `expression`."""

    text: str
    """The literal without its quotes, or the SQL text of the expression."""

    restored: str = ""
    """What TiDB writes behind DEFAULT."""

    parenthesised: bool = False
    """Whether a literal or the name of a column stands in parentheses."""


@dataclass(frozen=True)
class KeyPart:
    column: str
    """Empty for an expression."""

    length: int = -1
    expression: str = ""
    at: int = 0
    restored: str = ""
    """The expression as TiDB writes it back."""

    descending: bool = False
    qualifier: str = ""
    """What stands before the column's name: `t.` or `d.t.`, without the last dot."""


@dataclass(frozen=True)
class References:
    """What a foreign key refers to."""

    table: TableName
    parts: tuple[KeyPart, ...]
    match: str = ""
    """FULL, PARTIAL, SIMPLE or nothing."""

    on_delete: str = ""
    """RESTRICT, CASCADE, SET NULL, NO ACTION, SET DEFAULT or nothing."""

    on_update: str = ""


@dataclass(frozen=True)
class CheckDefinition:
    condition: Expression
    enforced: bool = True
    name: str = ""


@dataclass(frozen=True)
class KeyOptions:
    """The options of a key, each empty or None where the statement does not say it."""

    using: str = ""
    """BTREE, HASH, RTREE, HNSW, …"""

    clustered: bool | None = None
    visible: bool | None = None
    comment: str | None = None
    scope: str = ""
    """GLOBAL, LOCAL or nothing."""

    key_block_size: int | None = None
    parser: str = ""
    """WITH PARSER x"""

    pre_split: str = ""
    """The restored value of PRE_SPLIT_REGIONS."""

    secondary_engine_attribute: str | None = None
    on_demand: bool = False
    """ADD_COLUMNAR_REPLICA_ON_DEMAND"""

    condition: Expression | None = None
    """WHERE of a partial index."""


@dataclass(frozen=True)
class KeyDefinition:
    kind: str
    """`primary`, `unique`, `key`, `foreign`, `check`, `columnar`, `vector`, `fulltext` or `spatial`."""

    name: str
    """Its CONSTRAINT's, else its own, as TiDB's grammar has it; empty without either."""

    parts: tuple[KeyPart, ...]
    options: KeyOptions = KeyOptions()
    at: int = 0
    if_not_exists: bool = False
    references: References | None = None
    check: CheckDefinition | None = None
    empty_name: bool = False
    """Whether two back-quotes stand for the name."""

    @property
    def clustered(self) -> bool | None:
        return self.options.clustered


@dataclass(frozen=True)
class ColumnOption:
    kind: str
    """In lower case: `not null`, `null`, `default`, `on update`, `auto_increment`, `auto_random`, `primary`, `unique`,
    `comment`, `collate`, `generated`, `check`, `references`, `column_format`, `storage`, `engine_attribute`,
    `secondary_engine_attribute`; SERIAL (the type and DEFAULT VALUE) is written out as its three options."""

    text: str = ""
    """A comment, a collation in lower case, a word in capitals, an attribute."""

    default: ColumnDefault | None = None
    """Of `default`."""

    expression: Expression | None = None
    """Of `on update` and `generated`."""

    stored: bool = False
    """Of `generated`."""

    numbers: tuple[int, ...] = ()
    """Of `auto_random`: shard bits and range bits, as far as they are said."""

    clustered: bool | None = None
    """Of `primary`."""

    scope: str = ""
    """Of `primary` and `unique`: GLOBAL, LOCAL or nothing."""

    check: CheckDefinition | None = None
    references: References | None = None


@dataclass(frozen=True)
class ColumnDefinition:
    name: str
    type: FieldType
    at: int
    options: tuple[ColumnOption, ...] = ()
    """In the order written."""

    qualifier: str = ""
    """What stands before the name: `t.` or `d.t.`, without the last dot."""

    def option(self, *kinds: str) -> ColumnOption | None:
        """The last option of these kinds, which is the one that counts."""
        return next((option for option in reversed(self.options) if option.kind in kinds), None)

    @property
    def null(self) -> bool | None:
        """True for NULL, False for NOT NULL, None where the statement says neither."""
        option = self.option("null", "not null")
        return option.kind == "null" if option else None

    @property
    def default(self) -> ColumnDefault | None:
        option = self.option("default")
        return option.default if option else None

    @property
    def on_update(self) -> str:
        option = self.option("on update")
        return option.expression.text if option and option.expression else ""

    @property
    def generated(self) -> str:
        option = self.option("generated")
        return ("stored" if option.stored else "virtual") if option else ""

    @property
    def generated_expression(self) -> str:
        option = self.option("generated")
        return option.expression.text if option and option.expression else ""

    @property
    def auto_increment(self) -> bool:
        return self.option("auto_increment") is not None

    @property
    def auto_random(self) -> bool:
        return self.option("auto_random") is not None

    @property
    def comment(self) -> str:
        option = self.option("comment")
        return option.text if option else ""

    @property
    def collation(self) -> str:
        option = self.option("collate")
        return option.text if option else ""

    @property
    def keys(self) -> tuple[KeyDefinition, ...]:
        """PRIMARY KEY and UNIQUE written with the column; TiDB makes one index of PRIMARY KEY said twice, two of
        UNIQUE."""
        return tuple(self._keys())

    def _keys(self) -> Iterator[KeyDefinition]:
        seen: set[str] = set()
        for option in self.options:
            if option.kind == "unique" or option.kind == "primary" and option.kind not in seen:
                seen.add(option.kind)
                settings = KeyOptions(clustered=option.clustered, scope=option.scope)
                yield KeyDefinition(option.kind, "", (KeyPart(self.name, at=self.at),), settings, self.at)
