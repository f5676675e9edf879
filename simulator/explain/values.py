"""A value as a user writes it in JSON, checked and brought to TiDB text.

One law: what TiDB could not hold, or would only hold as another value, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from simulator.errors import UserError
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values import accepted, tidb_text


def read_value(value: Any, column: Column) -> str | None:
    """Null, text, a number or {"hex": "…"} as TiDB text: bytes of a binary column as Latin-1 text, in a column of text
    bytes that are not UTF-8 as lone surrogates; raises UserError."""
    if value is None:
        if column.not_null:
            raise UserError(f"column {column.name!r} is NOT NULL: a value is needed")
        return None
    data, type = _data(value, column), column.type
    kept = _kept(type, data)
    if kept is None:
        wanted = accepted(type)
        raise _refused(value, column, f"{wanted} are" if family(type) == "integer" else f"accepted: {wanted}")
    same = SAME.get(family(type))
    if same and not same(data.decode(), kept):
        raise _refused(value, column, f"TiDB would keep {kept!r}")
    if family(type) in ("string", "text") and not is_binary(type) and "\ufffd" in kept:
        return data.decode("utf-8", "surrogateescape")
    return kept


def _refused(value: Any, column: Column, reason: str) -> UserError:
    return UserError(f"column {column.name!r}: {value!r} is no {column.type.name} ({reason})")


def _kept(type: ColumnType, data: bytes) -> str | None:
    """The TiDB text of a value; TiCDC also meets text that is not UTF-8, which an INSERT in strict mode is not."""
    if family(type) in ("string", "text") and not is_binary(type):
        data = data.decode("utf-8", "replace").encode()
    kept: str | None = tidb_text(type, pa.array([b"n" + data if type.name == "bit" else data], pa.binary()))[0].as_py()
    return kept


def _data(value: Any, column: Column) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UserError(f"column {column.name!r}: {value[error.start]!r} is half a character") from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value).encode()
    if not isinstance(value, dict) or value.keys() != {"hex"} or not isinstance(value["hex"], str):
        shape = 'null, text, a number or {"hex": "…"}'
        raise UserError(f"column {column.name!r}: {value!r} is not {shape}")
    try:
        return bytes.fromhex(value["hex"])
    except ValueError as error:
        raise UserError(f"column {column.name!r}: hex {value['hex'][:40]!r}: {error}") from None


def _number(text: str, kept: str) -> bool:
    return Decimal(text.strip()) == Decimal(kept)


def _spelling(text: str, kept: str) -> bool:
    return text == kept


def _members(text: str, kept: str) -> bool:
    return set(text.split(",")) == set(kept.split(","))


SAME: dict[str, Callable[[str, str], bool]] = {
    "integer": _number, "decimal": _number, "bit": _number, "year": _number, "date": _spelling, "time": _spelling,
    "datetime": _spelling, "enum": _spelling, "set": _members,
}
"""Family -> whether what TiDB keeps is what was written; of the others TiDB keeps its own spelling."""
