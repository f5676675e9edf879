"""Schema files: a table's columns as JSON, with a checksum in the file's name.

Sources: tiflow v8.0.0: pkg/sink/cloudstorage/table_definition.go, path.go; tidb: pkg/parser/mysql/util.go.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.releases import Release
from simulator.ticdc.codecs.json_text import quoted
from simulator.ticdc.storage.paths import SCHEMA_JSON
from simulator.tidb.ddl.expressions.hidden_columns import VarString, hidden_columns
from simulator.tidb.ddl.expressions.stored_text import stored_expression
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType

if TYPE_CHECKING:
    from simulator.tidb.ddl.catalog import ViewInfo

Member = tuple[str, bytes]
"""Name and JSON text of a member of an object."""

INDENT = b"    "
LENGTHS = {name: row.length for name, row in types.TYPES.items()} | {"float": 12, "double": 22, "varchar": 5}
"""Lengths of types that store none (GetDefaultFieldLengthAndDecimal)."""

WITHOUT_LENGTH = frozenset(("date", "time", "datetime", "enum", "set", "json", "vector"))
"""Families of types whose columns have no ColumnPrecision."""


@dataclass(frozen=True)
class TableDefinition:
    """What a schema file says."""

    schema: str
    table: Table | ViewInfo | None
    """None for a statement on a database."""

    version: int
    query: str = ""
    type_code: int = 0

    def text(self, release: Release, with_ids: bool) -> bytes:
        """Return the content of the file."""
        columns = [column for _, column in self.columns(release, with_ids)]
        return _object(
            [
                ("Table", quoted(self._name)),
                ("Schema", quoted(self.schema)),
                ("Version", b"1"),
                ("TableVersion", b"%d" % self.version),
                ("Query", quoted(self.query)),
                ("Type", b"%d" % self.type_code),
                ("TableColumns", _array(columns) if columns else b"null"),
                ("TableColumnsTotal", b"%d" % len(columns)),
            ]
        )

    def checksum(self, release: Release, with_ids: bool) -> int:
        """Return the CRC-32 of the names and columns, whatever their order."""
        return columns_checksum(quoted(self._name), quoted(self.schema), self.columns(release, with_ids))

    def path(self, directory: str, release: Release, with_ids: bool) -> str:
        """Return the path of the file below the storage's URI; `directory` is that of the table or database."""
        if not release.storage_schema_names:
            return f"{directory}/{self.version}/{SCHEMA_JSON}"
        return f"{directory}/meta/schema_{self.version}_{self.checksum(release, with_ids):010d}.json"

    @property
    def _name(self) -> str:
        return self.table.name if self.table else ""

    def columns(self, release: Release, with_ids: bool) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the JSON text of each column."""
        if isinstance(self.table, Table):
            for column in (*self.table.columns, *(hidden_columns(self.table) or ())):
                members = _members(column, column.name in self.table.primary_key, release, with_ids)
                yield column.name, _object(members, 2)
        elif self.table is not None:
            for name in self.table.columns:
                yield name, _object([("ColumnName", quoted(name)), ("ColumnType", b'"UNSPECIFIED"')], 2)


def columns_checksum(table: bytes, schema: bytes, columns: Iterable[tuple[str, bytes]]) -> int:
    """Return the CRC-32 of names, as JSON texts, and of columns by name, whatever their order."""
    texts = [text for _, text in sorted(columns)]
    members = [("Table", table), ("Schema", schema), ("Version", b"0"), ("TableColumns", _array(texts))]
    return zlib.crc32(_object([*members, ("TableColumnsTotal", b"%d" % len(texts))]))


def _members(column: Column, is_primary: bool, release: Release, with_id: bool) -> Iterator[Member]:
    type = column.type
    if with_id:
        yield "ColumnId", _text(column.id)
    yield "ColumnName", quoted(column.name)
    name = "var_string" if isinstance(type, VarString) else types.bare_name(type)
    yield "ColumnType", quoted(name.upper() + " UNSIGNED" * types.is_unsigned(type))
    default = _default(column, release) if release.storage_column_defaults else None
    if default is not None:
        yield "ColumnDefault", quoted(default)
    family = types.family(type)
    if family not in WITHOUT_LENGTH:
        yield "ColumnPrecision", _text(LENGTHS[type.name] if type.length < 0 else type.length)
    if family == "decimal" or type.decimal > 0 and family in ("float", "time", "datetime"):
        yield "ColumnScale", _text(max(type.decimal, 0))
    if column.not_null:
        yield "ColumnNullable", b'"false"'
    if is_primary:
        yield "ColumnIsPk", b'"true"'
    if release.storage_elements and family in ("enum", "set"):
        yield "ColumnElems", _texts(type.elements)


def _default(column: Column, release: Release) -> str | None:
    """Return the default as TiDB stores it."""
    default = column.default
    if default is None and column.type.name == "year" and column.not_null and not column.generated:
        return "0000"  # tidb v8.0.0: pkg/ddl/ddl_api.go setYearDefaultValue
    if default is None and release.storage_origin_default:
        default = column.origin_default
        return None if default is None else _stored(default, column.type)
    if default is None or not column.default_expression:
        return None if default is None else _stored(default, column.type)
    return "CURRENT_TIMESTAMP" if default.upper().startswith("CURRENT_TIMESTAMP") else stored_expression(default)


def _stored(default: str, type: ColumnType) -> str:
    """Return a stored default as text; of bytes those that are no UTF-8 become U+FFFD."""
    is_bytes = types.family(type) == "bit" or types.is_binary(type)
    return default.encode("latin-1").decode("utf-8", "surrogateescape") if is_bytes else default


def _texts(texts: Iterable[str]) -> bytes:
    """Return the array of a column's texts."""
    return b"[\n" + b",\n".join(INDENT * 4 + quoted(text) for text in texts) + b"\n" + INDENT * 3 + b"]"


def _text(number: int) -> bytes:
    return b'"%d"' % number


def _object(members: Iterable[Member], depth: int = 0) -> bytes:
    """Return a JSON object as json.MarshalIndent writes it."""
    lines = (INDENT * (depth + 1) + b'"%s": %s' % (name.encode(), text) for name, text in members)
    return b"{\n" + b",\n".join(lines) + b"\n" + INDENT * depth + b"}"


def _array(objects: Iterable[bytes]) -> bytes:
    """Return the array of columns."""
    entries = [INDENT * 2 + text for text in objects]
    return b"[\n" + b",\n".join(entries) + b"\n" + INDENT + b"]" if entries else b"[]"
