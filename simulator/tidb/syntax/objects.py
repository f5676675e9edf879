"""The statements about views, sequences, placement policies and resource groups (tidb pkg/parser/ast/ddl.go)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import Statement, TableName
from simulator.tidb.syntax.tables import EmbeddedQuery, TableOption

# -- views and sequences -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateView(Statement):
    view: TableName
    query: EmbeddedQuery
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: str = "CURRENT_USER"
    """As TiDB writes it back: CURRENT_USER or `user`@`host`."""

    security: str = "DEFINER"
    check_option: str = "CASCADED"
    """CASCADED or LOCAL."""


@dataclass(frozen=True)
class DropView(Statement):
    views: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class SequenceOption:
    name: str
    """`INCREMENT BY`, `START WITH`, `MINVALUE`, `MAXVALUE`, `CACHE`, `CYCLE`, `NO MINVALUE`, …, `RESTART`."""

    value: int | None = None


@dataclass(frozen=True)
class CreateSequence(Statement):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    table_options: tuple[TableOption, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSequence(Statement):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True)
class DropSequence(Statement):
    sequences: tuple[TableName, ...]
    if_exists: bool = False


# -- cluster objects ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacementPolicy(Statement):
    """CREATE, ALTER or DROP PLACEMENT POLICY."""

    verb: str
    """CREATE, ALTER or DROP."""

    name: str
    options: tuple[TableOption, ...] = ()
    or_replace: bool = False
    exists: bool = False
    """Whether the statement has IF EXISTS, or IF NOT EXISTS after CREATE."""


@dataclass(frozen=True)
class ResourceGroup(Statement):
    """CREATE, ALTER or DROP RESOURCE GROUP."""

    verb: str
    name: str
    exists: bool = False
