"""What the rules say a message holds of a row: columns by the options, and of their values what TiCDC does not lose."""

from __future__ import annotations

from dataclasses import dataclass

from codec_losses import sent
from codec_readings import Texts, comparable
from random_tables import Change, Made, Value, Values
from simulator.codecs import CodecOptions
from simulator.releases import Release
from simulator.schema.keys import handle_key
from simulator.schema.table import Column
from simulator.schema.types import is_binary


@dataclass(frozen=True)
class Case:
    """Changes of one table, and how they are to be encoded."""

    release: Release
    made: Made
    options: CodecOptions
    changes: tuple[Change, ...]


Wanted = tuple[str, "Texts | None", "Texts | None"]
"""Operation, old row, new row."""


def expected(case: Case, change: Change) -> Wanted:
    """What a reader finds of a change."""
    before, after = change
    if after is None:
        assert before is not None
        kept = handle_key(case.made.table) if case.options.delete_only_output_handle_key_columns else tuple(before)
        return "DELETE", texts(case, {name: before[name] for name in before if name in kept}), None
    old = None if before is None else old_row(case, before, after)
    return "INSERT" if old is None else "UPDATE", old, texts(case, after)


def old_row(case: Case, before: Values, after: Values) -> Texts | None:
    """`p` or the row in `old`; None where the message has none."""
    options, is_open = case.options, case.options.protocol == "open-protocol"
    if is_open and not options.output_old_value:
        return None
    if options.only_output_updated_columns or options.content_compatible and not is_open:
        types = {one.name: one for one in case.made.table.columns}
        changed = {name: before[name] for name in before if differ(before[name], after[name], types[name])}
        return texts(case, changed) if changed or not is_open else None
    return texts(case, before)


def differ(before: Value | None, after: Value | None, column: Column) -> bool:
    """Whether TiCDC sees a change: numbers by value, all else by bytes."""
    if before is None or after is None or column.type.name not in ("float", "double"):
        return raw(before) != raw(after)
    return float(before) != float(after)


def raw(value: Value | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def texts(case: Case, values: Values) -> Texts:
    """TiDB text as the wire leaves it."""
    types = {one.name: one for one in case.made.table.columns}
    return {
        name: sent(text(value, types[name]), types[name], case.release, case.options.protocol)
        for name, value in values.items()}


def text(value: Value | None, column: Column) -> str | None:
    """TiDB text of a value: bytes as Latin-1 in binary columns, else as surrogateescape has them."""
    if value is None:
        return None
    data = value.encode() if isinstance(value, str) else value
    return data.decode("latin-1") if is_binary(column.type) else data.decode("utf-8", "surrogateescape")


def same(found: Texts | None, wanted: Texts | None, case: Case) -> bool:
    """Whether two rows are one, floats compared as numbers."""
    if found is None or wanted is None:
        return found is wanted
    types = {one.name: one for one in case.made.table.columns}
    return found.keys() == wanted.keys() and all(
        comparable(found[name], types[name]) == comparable(wanted[name], types[name]) for name in found)
