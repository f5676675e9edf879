"""What the rules say a message holds of a row: columns by the options, and of their values what TiCDC does not lose."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from simulator.reader.decode import Image, RowEvent
from simulator.reader.decode.row_images import EXACT_DECIMALS, connect_text
from simulator.releases import Release
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.table_info import handle_columns
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family, is_binary
from support.codec_readings import ReadRow, Texts, comparable, counted
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
    if found.keys() != wanted.keys():
        return False
    if case.is_debezium:
        return all(same_text(found[name], wanted[name], case.types[name]) for name in found)
    return all(
        comparable(found[name], of) == comparable(wanted[name], of) for name, of in case.types.items() if name in found
    )


# -- what TiCDC's own encoders lose of a value, by release: the only ways in which a message may differ from its row ----

LOST = "\ufffd"


def sent(text: str | None, column: Column, release: Release, protocol: str) -> str | None:
    """The TiDB text that a reader gets for a column's: bytes of binary columns as Latin-1, of others that are not
    UTF-8 as lone surrogates."""
    if text is None:
        return None
    if protocol.startswith("debezium"):
        return left(text, column, release, protocol)
    if column.type.name == "float":
        return number(text, release)
    if protocol == "simple":
        return text if is_binary(column.type) else readable(text)
    return (open_text if protocol == "open-protocol" else canal_text)(text, column, release)


def number(text: str, release: Release) -> str:
    """A FLOAT's digits: the shortest, or those that it has as a double."""
    single = np.float32(text)
    return repr(float(single)) if release.float_widened else np.format_float_scientific(single, unique=True)


def open_text(text: str, column: Column, release: Release) -> str | None:
    """By Open Protocol: BLOBs and TEXTs lose nothing."""
    kind = family(column.type)
    if release.open_zero_is_null and is_zero(text, column):
        return None
    if kind == "time" and not release.open_time_fraction:
        return text.split(".")[0]
    if kind == "string" and is_binary(column.type):
        return text
    plain = kind == "string" and release.open_escapes_html and not release.open_strings_base64
    return readable(text) if plain else text


def canal_text(text: str, column: Column, release: Release) -> str | None:
    """By Canal-JSON: Latin-1 loses nothing."""
    kind = family(column.type)
    if release.canal_text_null and kind in ("string", "text", "json") and text == "null":
        return None
    if release.canal_zero_null and is_zero(text, column):
        return None
    if kind == "time" and release.canal_whole_seconds:
        return text.split(".")[0]
    if is_binary(column.type):
        return text if kind == "text" or release.canal_latin1_strings else readable_bytes(text)
    return readable(text)


ZEROS = {
    **dict.fromkeys(("string", "text", "set"), ""),
    **{"decimal": r"-?0+(\.0+)?", "json": r"-?0(\.0+)?", "date": "[0-]+", "datetime": "[0:. -]+"},
    "time": r"-?00:00:00(\..*)?",
}


def is_zero(text: str, column: Column) -> bool:
    """Whether early releases of the new architecture take it for nothing; TIME is looked at without its fraction."""
    kind = family(column.type)
    if kind == "enum":
        return text == "" and "" not in column.type.elements
    return kind in ZEROS and re.fullmatch(ZEROS[kind], text) is not None


def readable(text: str) -> str:
    """U+FFFD for each byte that is not UTF-8."""
    return "".join(LOST if "\udc80" <= char <= "\udcff" else char for char in text)


def readable_bytes(text: str) -> str:
    """Bytes as text, for which bytes stand again where none was lost."""
    said = readable(text.encode("latin-1").decode("utf-8", "surrogateescape"))
    return said if LOST in said else text


# -- Debezium ---------------------------------------------------------------------------------------------------------

COUNTED = ("date", "datetime", "timestamp")


def left(text: str, column: Column, release: Release, protocol: str) -> str | None:
    """The TiDB text that a reader gets for a column's: of a DECIMAL in JSON a float, of dates those that exist."""
    if column.type.name == "float":
        return repr(float(np.float32(text)))
    if column.type.name == "decimal" and protocol == "debezium":
        return repr(float(text))
    if column.type.name == "time" and text.startswith("-") and not text.strip("-0:."):
        return text[1:]
    if column.type.name not in COUNTED:
        return text
    if column.type.name == "timestamp":
        return debezium_timestamp(text, column, release)
    year, month, day = int(text[:4]), text[5:7], text[8:10]
    if release.debezium_moves_years and year < 100:
        year += 2000 if year < 70 else 1900
    try:
        date(year or 2000, int(month), int(day))
    except ValueError:
        return counted(0, column) if column.not_null else None
    return f"{year:04d}{text[4:]}"


def debezium_timestamp(text: str, column: Column, release: Release) -> str | None:
    """Zero is 1970, without a fraction in later releases, or NULL."""
    if not text.startswith("0000-00-00"):
        return text
    if release.debezium_moves_years:
        return "1970-01-01 00:00:00"
    return f"1970-01-01 00:00:00.{'0' * column.type.decimal}" if column.not_null else None


def same_text(found: str | None, wanted: str | None, column: Column) -> bool:
    """Whether two texts are one, numbers compared as such."""
    if found is None or wanted is None or column.type.name not in ("float", "double", "decimal"):
        return found == wanted
    if column.type.name == "float":
        return bool(np.float32(found) == np.float32(wanted))
    return bool(found == wanted or float(found) == float(wanted))


def assert_debezium_decoded(event: RowEvent, row: ReadRow, table: Table) -> None:
    """The project's decoder says the same, except for texts that may stand for several values."""
    types = {column.name: column for column in table.columns}
    for image, read in ((event.before, row.before), (event.after, row.after)):
        found = None if image is None else decoded_texts(event, image, types)
        assert (found is None) == (read is None)
        for name, text in (found or {}).items():
            unknown = text is None and image is not None and image[name] is not None
            assert unknown or same_text(text, (read or {})[name], types[name]), (name, text, read)
        assert [*(found or {})] == [*(read or {})]


def decoded_texts(event: RowEvent, image: Image, types: Mapping[str, Column]) -> Texts:
    """The values of an image in TiDB text; None for unknown ones."""
    found: Texts = {}
    for name, value in image.items():
        column = types[name]
        exact = column.type.name == "decimal" and event.columns[name].type in EXACT_DECIMALS
        assert value is None or isinstance(value, str)
        found[name] = value if value is None or exact else connect_text(value, column)
    return found
