"""What the rules say a message holds of a row: columns by the options, and of their values what TiCDC does not lose."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from simulator.releases import Release
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.table_info import handle_columns
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import is_binary
from support.codec_debezium import same_text
from support.codec_losses import is_zero, sent
from support.codec_readings import Texts, comparable
from support.random_tables import Change, RandomTable, Value, Values


@dataclass(frozen=True)
class Case:
    """Changes of one table, and how they are to be encoded."""

    release: Release
    made: RandomTable
    options: CodecOptions
    """Those alone that the release knows."""

    changes: tuple[Change, ...]
    selected: frozenset[str] | None = None
    """Columns that column selectors leave."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis shows of a failure: what it takes to repeat it, in a line."""
        usual, given = vars(CodecOptions("")), vars(self.options)
        options = {name: value for name, value in given.items() if value != usual[name]}
        where = f"{self.release.name} {self.release.architecture} {options}"
        printer.text(f"{where} {self.made.table.statement} {self.changes} {self.selected}")

    @property
    def is_open(self) -> bool:
        return self.options.protocol == "open-protocol"

    @property
    def is_simple(self) -> bool:
        """Whether rows are whole whatever the options, and without their types."""
        return self.options.protocol == "simple"

    @property
    def is_debezium(self) -> bool:
        """Whether rows are whole, with the names of the columns' own types."""
        return self.options.protocol.startswith("debezium")

    @property
    def types(self) -> dict[str, Column]:
        return {column.name: column for column in self.made.table.columns}


@dataclass(frozen=True)
class Wanted:
    """One row change as a reader is to find it."""

    op: str
    before: Texts | None
    after: Texts | None
    nameless: Texts | None = None
    """Old values that have no name."""


def expected(case: Case, change: Change) -> Wanted:
    """What a reader finds of a change."""
    before, after = change
    if case.is_simple or case.is_debezium:
        operation = "DELETE" if after is None else "INSERT" if before is None else "UPDATE"
        old, new = (None if image is None else texts(case, image) for image in change)
        hidden = case.is_debezium and operation == "UPDATE" and not case.options.debezium_output_old_value
        return Wanted(operation, None if hidden else old, new)
    if after is None:
        assert before is not None
        kept = handle_columns(case.made.table, case.release) if deletes_by_key(case) else None
        return Wanted("DELETE", texts(case, before, kept), None)
    new = texts(case, after)
    if before is None or not has_old(case):
        return Wanted("INSERT", None, new)
    old, nameless = old_row(case, before, after)
    return Wanted("INSERT" if old is None else "UPDATE", old, new, nameless)


def cut_down(case: Case, whole: Wanted) -> Wanted:
    """The same of a row that is cut down to its handle key."""
    handle = handle_columns(case.made.table, case.release)
    before, after, nameless = (
        image and {name: value for name, value in image.items() if name in handle}
        for image in (whole.before, whole.after, whole.nameless)
    )
    unchanged = case.is_open and whole.op == "UPDATE" and not before and case.options.only_output_updated_columns
    if unchanged and not case.release.open_old_always:
        return Wanted("INSERT", None, after)
    return Wanted(whole.op, before, after, nameless)


def deletes_by_key(case: Case) -> bool:
    """Whether a DELETE holds its handle key alone."""
    asked = case.options.delete_only_output_handle_key_columns
    without = case.release.delete_without_old_value and not case.options.enable_old_value
    return asked or without or case.is_open and not case.release.open_old_values


def has_old(case: Case) -> bool:
    """Whether an UPDATE has its old row."""
    if case.release.update_without_old_value and not case.options.enable_old_value:
        return False
    wanted = case.options.output_old_value or not case.release.open_old_optional
    return not case.is_open or wanted and case.release.open_old_values


def old_row(case: Case, before: Values, after: Values) -> tuple[Texts | None, Texts | None]:
    """`p` or the row in `old`, None where there is none, and what of it has no name."""
    options, release = case.options, case.release
    if not options.only_output_updated_columns and not (options.content_compatible and not case.is_open):
        return {**blanks(case, before), **texts(case, before)}, None
    changed = {name: before[name] for name in before if differ(case, before[name], after[name], case.types[name])}
    if not case.is_open:
        return changed_texts(case, changed), None
    zeros = {name: None for name in changed if release.open_old_zero_is_null and zero(case, name, changed[name])}
    nameless = {name: changed[name] for name in changed if release.open_old_nameless and after[name] is None}
    named = {name: value for name, value in {**changed, **zeros}.items() if name not in nameless}
    if not changed_texts(case, changed) and not release.open_old_always:
        return None, None
    return changed_texts(case, named), changed_texts(case, nameless)


def zero(case: Case, name: str, value: Value | None) -> bool:
    said = text(value, case.types[name])
    return said is not None and is_zero(said, case.types[name])


def differ(case: Case, before: Value | None, after: Value | None, column: Column) -> bool:
    """Whether TiCDC sees a change: numbers by value, all else by bytes, or both by what Canal-JSON would print."""
    if not case.is_open and case.release.canal_compares_texts:
        said = [sent(text(values, column), column, case.release, "canal-json") for values in (before, after)]
        return comparable(said[0], column) != comparable(said[1], column)
    if before is None or after is None:
        return before is not after
    if case.is_open and column.type.name == "bit" and not case.release.open_old_bits:
        return False
    return float(before) != float(after) if column.type.name in ("float", "double") else raw(before) != raw(after)


def raw(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else value


def blanks(case: Case, values: Values) -> Texts:
    """Columns that selectors leave out may stand in an old row as empty texts."""
    if case.is_open or case.selected is None or not case.release.canal_blank_old_values:
        return {}
    return {name: "" for name in {**values, **virtual(case)} if name not in case.selected}


def texts(case: Case, values: Values, kept: Collection[str] | None = None) -> Texts:
    """TiDB text of the columns that a whole row has, as the wire leaves it; `kept`: of these alone."""
    found = changed_texts(case, {**values, **virtual(case)})
    return {name: value for name, value in found.items() if kept is None or name in kept}


def virtual(case: Case) -> Values:
    """The virtual columns that rows have, always NULL."""
    release = case.release
    if case.is_debezium:
        shown = release.debezium_virtual_columns or case.options.protocol == "debezium-avro"
        return {column.name: None for column in case.made.table.columns if column.generated == "virtual" and shown}
    other = release.simple_virtual_columns if case.is_simple else release.canal_virtual_columns
    shown = release.open_virtual if case.is_open else other
    return {column.name: None for column in case.made.table.columns if column.generated == "virtual" and shown}


def changed_texts(case: Case, values: Values) -> Texts:
    """Those of the columns that are written."""
    return {
        name: sent(text(value, case.types[name]), case.types[name], case.release, case.options.protocol)
        for name, value in values.items()
        if written(case, name)
    }


def written(case: Case, name: str) -> bool:
    """Whether rows have the column."""
    if case.is_debezium and (case.release.debezium_selectors == "ignored" or case.types[name].generated == "virtual"):
        return True
    if case.selected is not None and name not in case.selected:
        return False
    return not case.is_open or case.release.open_generated or not case.types[name].generated


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
    if case.is_debezium:
        return found.keys() == wanted.keys() and all(
            same_text(found[name], wanted[name], case.types[name]) for name in found
        )
    return found.keys() == wanted.keys() and all(
        comparable(found[name], case.types[name]) == comparable(wanted[name], case.types[name]) for name in found
    )
