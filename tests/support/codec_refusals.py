"""Rows of any table under any release and protocol, drawn, with options that the release has; and what each release
refuses of rows, and in which words: told from TiCDC's sources and the messages' own bytes.

A refusal that is not foretold here, and one that is foretold and does not come, are both mistakes.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows, RowChanges
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.ticdc.table_info import handle_columns
from simulator.tidb.model.table import Column
from support.codec_expected import Case, expected
from support.codec_rows import releases_of, rows
from support.random_tables import RandomTable, changes, tables

Entry = tuple["bytes | None", bytes]
"""Key and value of a row."""


def refusal(case: Case) -> str | tuple[str, ...]:
    """How the error for the rows begins, whatever their size; empty where the release writes them all. Several where
    rows have several errors, and the first to be found decides."""
    if case.is_open:
        return _nothing_left(case)
    match case.options.protocol:
        case "debezium":
            return _debezium(case)
        case "debezium-avro":
            return _debezium_avro(case)
        case "canal-json":
            return _unsigned_null(case) or _selection(case)
        case "avro":
            return _avro(case) if case.release.avro_records == "columns" else _avro_early(case)
        case "simple":
            return _simple(case)
    return ""


def _avro_early(case: Case) -> str | tuple[str, ...]:
    """Before 6.1 goavro refuses names that are not cleaned, and a union that lacks the type of a value; TiCDC crashes at
    values of types that it does not expect (cdc/sink/codec/avro.go)."""
    table, release = case.made.table, case.release
    columns = [column for column in table.columns if column.generated != "virtual"]
    handle = handle_columns(table, release)
    deletes = any(after is None for _, after in case.changes)
    if not all(AVRO_NAME.fullmatch(name) for name in (table.name, *(column.name for column in columns))):
        invalid = [column for column in columns if not AVRO_NAME.fullmatch(column.name)]
        sent = {column.name for column in columns} if any(after for _, after in case.changes) else handle
        if not AVRO_NAME.fullmatch(table.name) or any(column.name in sent for column in invalid):
            return "schema manager API error, %s: Record"
    found = []
    for before, after in case.changes:
        for column in columns:
            value = (after or before or {})[column.name]
            if value is not None and (after is not None or column.name in handle):
                found.append(_avro_early_value(column, str(value), column.name not in handle, release))
    if not handle or deletes and release.name == "v4.0.6":
        found.append("schema manager API error, %s: Record")
    return tuple(dict.fromkeys(text for text in found if text))


AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
JSON_FROM = ((4, 0, 16), (5, 0, 6), (5, 1, 4), (5, 2, 4), (5, 3, 1))
UNSIGNED_FROM = ((4, 0, 15), (5, 0, 4), (5, 1, 2), (5, 2, 2), (5, 3, 0))
ZERO_FROM = ((4, 0, 13), (5, 0, 3), (5, 1, 0))
"""The patches of their lines from which on something works; later lines have it from the beginning."""


def _works(release: Release, since: Sequence[tuple[int, int, int]]) -> bool:
    major, minor, patch = map(int, release.name.removeprefix("v").split("."))
    of_line = [first[2] for first in since if first[:2] == (major, minor)]
    return patch >= of_line[0] if of_line else (major, minor) > since[-1][:2]


def _avro_early_value(column: Column, value: str, outside: bool, release: Release) -> str:
    """How the error for a value begins."""
    type, union = column.type, f'field "{column.name}": value does not match its schema'
    oldest = not release.name.startswith("v6")
    if type.name == "json" and not _works(release, JSON_FROM):
        return "panic: interface conversion"
    if type.name in ("tinyint", "smallint", "mediumint") and type.unsigned and not _works(release, UNSIGNED_FROM):
        return "panic: interface conversion"
    if outside and oldest and type.name in ("char", "varchar") and type.charset == "binary":
        return union
    if outside and type.name == "float" and release.name in (f"v4.0.{patch}" for patch in range(6, 11)):
        return union
    if type.name == "enum" and not oldest and value == "" and "" not in type.elements:
        return "number 0 overflow enum boundary"
    if type.name in ("date", "datetime", "timestamp") and (_lacks_day(value) or value.startswith("0000-00-00")):
        is_zero = value in ("0000-00-00", "0000-00-00 00:00:00")
        return "" if is_zero and _works(release, ZERO_FROM) else "parsing time"
    return ""


def _simple(case: Case) -> str:
    """7.6 refuses the number 0 of an ENUM, and takes the types of columns from others if a virtual one is before them
    (pkg/sink/codec/simple/message.go formatColumns)."""
    if case.release.name != "v7.6.0":
        return ""
    columns = case.made.table.columns
    sent = [column for column in columns if column.generated != "virtual"]
    kinds = [(_way(column), _way(other)) for column, other in zip(sent, columns)]
    if any(own != other and (own != "number" or other in ("enum", "set")) for own, other in kinds):
        return "column "
    enums = [column for column in sent if column.type.name == "enum" and "" not in column.type.elements]
    enums = [column for column in enums if case.selected is None or column.name in case.selected]
    images = [image for change in case.changes for image in change if image is not None]
    zero = any(image[column.name] == "" for image in images for column in enums)
    return "convert to MySQL enum failed: number 0 overflow enum boundary" if zero else ""


def _way(column: Column) -> str:
    """The way in which values of a column become text: most are numbers, or texts of their own."""
    name, is_bytes = column.type.name, column.type.charset == "binary"
    if name in ("enum", "set"):
        return name
    strings = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
    return ("bytes" if is_bytes else "text") if name in strings else "number"


def _avro(case: Case) -> str:
    """goavro refuses names that are equal once they are cleaned, and TiDB the number 0 of an ENUM
    (pkg/sink/codec/avro/avro.go); keys come before values, and a DELETE has no value.

    The new architecture has the primary key alone in keys, crashes at the DELETE of one up to 8.5.6 and 26.3.3, and has
    NULL in virtual columns, whatever their type (ticdc: pkg/sink/codec/avro/arvo.go)."""
    table, is_new = case.made.table, case.release.architecture == "new"
    columns = [column for column in table.columns if is_new or column.generated != "virtual"]
    selected = None if case.release.name.startswith("v9") else case.selected
    columns = [column for column in columns if selected is None or column.name in selected]
    handle = set(table.primary_key) if is_new else handle_columns(table, case.release)
    keys = [after or before for before, after in case.changes]
    values = [after for _, after in case.changes if after is not None]
    named = [column for column in columns if column.name in handle]
    if is_new and handle and not named:
        return "schema manager API error, %s: Record"
    for sent, images in ((named, keys), (columns, values)):
        names = [re.sub(r"[^A-Za-z0-9_]", "_", column.name) for column in sent if images]
        if len(set(names)) < len(names):
            return "schema manager API error, %s: Record"
        enums = [column for column in sent if column.type.name == "enum" and "" not in column.type.elements]
        if any(image is not None and image[column.name] == "" for image in images for column in enums):
            return "number 0 overflow enum boundary"
        if is_new and handle and sent is named and len(values) < len(keys):
            if case.release.name not in ("v8.5.7", "v8.5.8", "v26.3.4"):
                return "panic: invalid memory address"
        if images and any(column.generated == "virtual" and column.not_null for column in sent):
            return "field "
    return ""


def _debezium(case: Case) -> str:
    """Up to 8.5.2 a column that is taken out crashes it (pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues). From
    8.5.1 on it stops at a DATETIME without month or day, up to 8.5.4 at NULL for a default of an ENUM or SET. The new
    architecture crashes at NULL for a default of a DATE (helper.go getValueFromDefault), and does none of these."""
    if case.release.architecture == "new":
        return _debezium_new(case)
    visible = [column.name for column in case.made.table.columns if column.generated != "virtual"]
    taken_out = case.selected is not None and not set(visible) <= case.selected
    if taken_out and not is_classic_from(case.release, 8, 5, 3):
        return "panic: invalid memory address"
    if not is_classic_from(case.release, 8, 5, 1):
        return ""
    sent = [column for column in case.made.table.columns if column.name in visible]
    sent = [column for column in sent if case.selected is None or column.name in case.selected]
    images = [image for change in case.changes for image in change if image is not None]
    for column in sent:
        texts = [image[column.name] for image in images]
        if column.type.name == "datetime" and any(_lacks_day(str(text)) for text in texts if text is not None):
            return "[types:1292]Incorrect datetime value"
        is_named = column.type.name in ("enum", "set") and column.default is not None
        if is_named and None in texts and not is_classic_from(case.release, 8, 5, 5):
            return "unexpected column value type string"
    return ""


def _debezium_avro(case: Case) -> str:
    """A `long` has no place for a BIGINT UNSIGNED from 2^63 on, and goavro none for names that are equal once they are
    cleaned, as those of virtual columns, which schemas have twice (pkg/sink/codec/debezium/avro.go)."""
    columns = case.made.table.columns
    sent = [column for column in columns if case.selected is None or column.name in case.selected]
    images = [image for change in case.changes for image in change if image is not None]
    if not case.options.debezium_output_old_value:
        images = [after or before or {} for before, after in case.changes]
    numbers = [
        image.get(column.name)
        for column in sent
        for image in images
        if column.type.name == "bigint" and column.type.unsigned
    ]
    if case.options.avro_bigint_unsigned_handling_mode == "long":
        if any(number is not None and int(number) >> 63 for number in numbers):
            return "unsigned bigint value"
    handle = handle_columns(case.made.table, case.release)
    virtual = [column for column in columns if column.generated == "virtual"]
    for found in ([column for column in columns if column.name in handle], [*sent, *virtual]):
        names = [re.sub("^(?=[0-9])", "_", re.sub(r"[^A-Za-z0-9_]", "_", column.name)) for column in found]
        if len(set(names)) < len(names):
            return "schema manager API error, %s: Record"
    return ""


def _debezium_new(case: Case) -> str:
    sent = [column for column in case.made.table.columns if column.generated != "virtual"]
    if not case.release.name.startswith("v9"):
        sent = [column for column in sent if case.selected is None or column.name in case.selected]
    dates = [column.name for column in sent if column.type.name == "date" and column.default is not None]
    images = [image for change in case.changes for image in change if image is not None]
    crashes = any(image[name] is None for image in images for name in dates)
    return "panic: interface conversion: interface {} is nil, not types.Time" if crashes else ""


def _lacks_day(text: str) -> bool:
    """Whether a date other than zero does not exist."""
    year, month, day = (int(part) for part in text[:10].split("-"))
    exists = 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 4, month)[1]
    return (year, month, day) != (0, 0, 0) and not exists


def _unsigned_null(case: Case) -> str:
    """v5.4.0 alone takes every value of an unsigned integer column for a number (cdc/sink/codec/canal.go
    getJavaSQLType)."""
    if case.release.name != "v5.4.0":
        return ""
    columns = case.made.table.columns
    unsigned = [column.name for column in columns if column.type.unsigned and column.type.name.endswith("int")]
    images = [image for change in case.changes for image in change if image is not None]
    nulls = any(image.get(name, "") is None for image in images for name in unsigned)
    return "panic: unsigned value not in type uint64" if nulls else ""


def _selection(case: Case) -> str:
    """Classic TiCDC from 7.5 on takes columns out of rows, and looks up what is left of an UPDATE by name to compare it
    (pkg/sink/codec/canal/canal_json_row_event_encoder.go newColsMap)."""
    compares = case.options.only_output_updated_columns or case.options.content_compatible
    crashes = is_classic_from(case.release, 7, 5) and case.selected is not None and compares
    return "panic: invalid memory address" if crashes and any(None not in change for change in case.changes) else ""


def _nothing_left(case: Case) -> str:
    """From 7.2 on classic TiCDC refuses a DELETE that is cut down to no column (pkg/sink/codec/open
    rowChangeToMsg); the new architecture any row without columns, in the same words (writeColumnFieldValues)."""
    classic = case.release.architecture == "classic"
    if classic and not is_classic_from(case.release, 7, 2):
        return ""
    found = [expected(case, change) for change in case.changes]
    if classic:
        cut = case.options.delete_only_output_handle_key_columns
        empty = any(change.before == {} for change in found if change.op == "DELETE" and cut)
    else:
        empty = any((change.before if change.after is None else change.after) == {} for change in found)
    return "not found handle key columns for the delete event" if empty else ""


def is_classic_from(release: Release, *numbers: int) -> bool:
    """Whether it is a classic release of that number or a later one."""
    own = tuple(map(int, re.findall(r"\d+", release.name)[:3]))
    return release.architecture == "classic" and own >= numbers


def overhead(case: Case) -> int:
    """What TiCDC adds to a row's key and value before it compares them with max-message-bytes."""
    kafka = 36 if not case.is_open or case.release.record_overhead_counted else 0
    return kafka + (24 if case.is_open else 0)


def sizes(entries: Sequence[Entry], case: Case) -> list[int]:
    """Each row as TiCDC counts it by itself."""
    return [len(key or b"") + len(value) + overhead(case) for key, value in entries]


def too_large(entries: Sequence[Entry], case: Case, limit: int) -> bool:
    """Whether some of the rows, encoded without a limit, are above it, and stay so when they are cut down."""
    if not (case.is_simple or (case.release.size_error if case.is_open else case.release.canal_size_limit)):
        return False
    cut = case.options.large_message_handle_option == "handle-key-only"
    return any(
        size > limit and (not cut or cut_size(entry, case) > limit)
        for entry, size in zip(entries, sizes(entries, case), strict=True)
    )


def cut_size(entry: Entry, case: Case) -> int:
    """The size of a row whose message has lost all but its handle key, and says so."""
    key, value = entry
    handle = handle_columns(case.made.table, case.release)
    mark = ',"ohk":true' if case.is_open else ',"handleKeyOnly":true' if case.is_simple else ',"onlyHandleKey":true'
    text = _cut(value.decode("utf-8", "surrogateescape"), handle, case.release.open_old_always)
    return len(key or b"") + len(text.encode("utf-8", "surrogateescape")) + len(mark) + overhead(case)


ROWS = ("u", "p", "d", "data", "old", "sqlType", "mysqlType")


def _cut(text: str, handle: Collection[str], keeps_empty: bool) -> str:
    """A value without the columns beside the handle key; an Open Protocol's `p` without any may go itself."""
    parts = []
    for _, name, value in _spelled(text):
        if name in ROWS and value.startswith(("{", "[{")):
            kept = _of(value[1:-1] if value[0] == "[" else value, handle)
            value = f"[{kept}]" if value[0] == "[" else kept
        if name != "p" or value != "{}" or keeps_empty:
            parts.append(f'"{name}":{value}')
    return "{" + ",".join(parts) + "}"


def _of(row: str, handle: Collection[str]) -> str:
    """An object with some of its members, each as it was written; values that have no column's name go."""
    return "{" + ",".join(f"{said}:{value}" for said, name, value in _spelled(row) if name in handle) + "}"


def _spelled(text: str) -> list[tuple[str, str, str]]:
    """Each member's name as it is written and as it reads, and its value as it is written."""
    found, at = [], 1
    while at < len(text) - 1:
        name, colon = JSON.raw_decode(text, at)
        _, end = JSON.raw_decode(text, colon + 1)
        found.append((text[at:colon], name, text[colon + 1 : end]))
        at = end + 1
    return found


JSON = json.JSONDecoder(strict=False)


# -- cases, drawn -----------------------------------------------------------------------------------------------------

# Hypothesis fails a test that changes the limit of nested calls, as the first statement that is parsed does.

SWITCHES = (
    "enable_tidb_extension",
    "only_output_updated_columns",
    "delete_only_output_handle_key_columns",
    "content_compatible",
    "output_old_value",
    "enable_old_value",
    "debezium_output_old_value",
)
CLOCK = 1_735_689_600_000


@st.composite
def cases(draw: DrawFn, protocol: str) -> Case:
    """Changes of a table under a release's protocol with options that the release has."""
    release = draw(st.sampled_from(releases_of(protocol)))
    # what TiCDC mistakes for other columns has cases of its own
    made = draw(tables().filter(lambda made: not CODECS[protocol].mistakes_columns(made.table, release)))
    switches: dict[str, Any] = {name: draw(st.booleans()) for name in SWITCHES}
    switches["enable_tidb_extension"] &= protocol == "canal-json"
    if protocol == "canal-json" or "enable-old-value" not in release.options:
        switches["enable_old_value"] = True
    options = supported_options(replace(CodecOptions(protocol, build_ts=CLOCK), **switches), release)
    if protocol == "debezium-avro":
        decimals, numbers = (draw(st.sampled_from([usual, "string"])) for usual in ("precise", "long"))
        options = replace(options, avro_decimal_handling_mode=decimals, avro_bigint_unsigned_handling_mode=numbers)
    return Case(release, made, options, tuple(draw(changes(made))), draw(selections(made, options, release)))


@st.composite
def selections(draw: DrawFn, made: RandomTable, options: CodecOptions, release: Release) -> frozenset[str] | None:
    """Columns that selectors leave: the handle key and perhaps more, None for all; without what TiCDC crashes on."""
    updates = options.only_output_updated_columns and options.protocol == "canal-json"
    if release.column_selectors == "nothing" or release.column_selectors == "rows" and updates:
        return None
    chosen = draw(st.none() | st.sets(st.sampled_from(sorted(made.values)), min_size=1))
    return None if chosen is None else handle_columns(made.table, release) | chosen


def encoded(case: Case) -> EncodedRows:
    """The case's rows as entries."""
    return CODECS[case.options.protocol].encode(arrays(case), case.options, case.release)


def arrays(case: Case) -> RowChanges:
    """The case's rows as the codecs take them."""
    made = rows(case.made.table, case.changes, case.made.binary)
    return replace(made, partition_id=case.made.partition, selected=case.selected)


def encoded_if_not_refused(case: Case) -> EncodedRows | None:
    """The rows as entries; None where the release refuses them, as it is to."""
    refused = refusal(case)
    if not refused:
        return encoded(case)
    with pytest.raises(EncodeError) as caught:
        encoded(case)
    assert caught.value.text.startswith(refused)
    return None
