"""Rows of any table under any release and protocol, drawn, with options that the release has; and what each release
refuses of rows, and in which words: told from TiCDC's sources and the messages' own bytes.

A refusal that is not foretold here, and one that is foretold and does not come, are both mistakes.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
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


def refusal(case: Case) -> str:
    """How the error for the rows begins, whatever their size; empty where the release writes them all. What Avro
    refuses is in tests/ticdc/codecs/test_avro*.py."""
    if case.is_open:
        return _nothing_left(case)
    match case.options.protocol:
        case "debezium":
            return _debezium(case)
        case "debezium-avro":
            return _debezium_avro(case)
        case "canal-json":
            return _unsigned_null(case) or _selection(case)
        case "simple":
            return _simple(case)
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
