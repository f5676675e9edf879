"""Laws of the codecs: a message holds its row and nothing else, whatever release, table, row and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codec_expected import Case, Wanted, assert_debezium_decoded, cut_down, expected, same
from support.codec_readings import ReadRow, Texts, debezium, debezium_avro, simple
from support.codec_refusals import arrays, cases, encoded, encoded_if_not_refused, overhead, sizes
from support.codec_rows import unframed
from support.playing import row_text

from simulator.columns.row_image import FEW_ROWS
from simulator.errors import EncodeError
from simulator.reader.decode import Event, RowEvent, TableSchemas, decode
from simulator.ticdc.codecs import CODECS, EncodedRows, Messages, RowChanges, TableInfo
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.ticdc.codecs.schema_registry import SchemaManager, with_schema_ids
from simulator.ticdc.table_info import handle_columns

few = settings(max_examples=40)

SHORTENED = ("open-protocol", "canal-json", "simple")
"""Protocols that may cut rows down to their key."""

READ = (*SHORTENED, "debezium", "debezium-avro")
"""Protocols whose messages are read here; those of others are held against tests/endtoend."""

NOTHING_LEFT = {"open-protocol": b"{}", "canal-json": b'"data":[{}]'}
"""What an entry has whose row has no column left; the decoder refuses it."""

OF_ROWS = ("commit_ts", "row_id", "before", "after")
SIZED = (*SHORTENED, "debezium")
"""Protocols whose messages show without reading them which rows they hold, and how large each is."""


CODES = {
    **{"tinyint": 1, "smallint": 2, "mediumint": 9, "int": 3, "bigint": 8, "float": 4, "double": 5, "decimal": 246},
    **{"bit": 16, "year": 13, "date": 10, "time": 11, "datetime": 12, "timestamp": 7, "char": 254, "varchar": 15},
    **{"tinytext": 249, "text": 252, "mediumtext": 250, "longtext": 251},
    **{"enum": 247, "set": 248, "json": 245, "vector": 225},
}


def read(message: tuple[bytes | None, bytes], case: Case, schemas: Mapping[int, str] | None = None) -> list[ReadRow]:
    """The rows of a message; `schemas` are those that it names."""
    table = case.made.table
    if case.is_debezium:
        named = case.options.protocol == "debezium-avro"
        return [debezium_avro(message[1], table, schemas or {}) if named else debezium(message[1], table)]
    return [simple(message[1], table)] if case.is_simple else [decoded(event, case) for event in decode(*message)]


def decoded(event: Event, case: Case) -> ReadRow:
    """A row of Open Protocol or Canal-JSON."""
    assert isinstance(event, RowEvent)
    before, after = (
        image if image is None else {name: row_text(image, case.made.table)[name] for name in image}
        for image in (event.before, event.after)
    )
    if case.is_open:
        assert all(column.type == CODES[case.types[name].type.name] for name, column in event.columns.items())
    commit_ts = (event.es or 0) << 18 if event.commit_ts is None else event.commit_ts
    told = event.rid, event.ptn, event.only_handle, len(event.unnamed)
    return ReadRow(event.op, before, after, event.schema, event.table, commit_ts, *told)


def messages(framed: Messages) -> list[tuple[bytes | None, bytes]]:
    """Key and value of each."""
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return list(zip(keys, framed.values.to_pylist(), strict=True))


def framed(made: EncodedRows, case: Case, groups: list[int] | None = None) -> Messages:
    """Messages of entries, by default all of one group."""
    group = np.array(groups or [0] * len(made.values), np.int64)
    return CODECS[case.options.protocol].frame(made, group, case.options, case.release)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", READ)
@few
@given(data=st.data())
def test_a_message_gives_back_its_row(protocol: str, data: st.DataObject) -> None:
    """Every column that release and options leave is there with its value, and no other; in either reading of those
    protocols that have two."""
    case = data.draw(cases(protocol))
    encoding = encoded_if_not_refused(case)
    if encoding is None:
        return
    wanted = [expected(case, change) for change in case.changes]
    if protocol in NOTHING_LEFT and any(
        {} in (change.before, change.after) and change.op != "UPDATE" for change in wanted
    ):
        assert any(NOTHING_LEFT[protocol] in value for value in encoding.values.to_pylist())
        return
    manager = SchemaManager()
    made = messages(framed(with_schema_ids(encoding, manager), case))
    schemas = {number: schema.text for number, schema in manager.known.items()}
    found = [reading for message in made for reading in read(message, case, schemas)]
    told = schemas_told(case)
    events = [event for message in made for event in decode(*message, schemas=schemas, told=told)]
    for number, (change, reading, event) in enumerate(zip(wanted, found, events, strict=True)):
        assert_read(reading, change, case, number)
        assert_decoded(event, reading, case)


def schemas_told(case: Case) -> TableSchemas:
    """What a BOOTSTRAP of the table tells, in protocols that have any."""
    codec = CODECS[case.options.protocol]
    told: TableSchemas = {}
    if codec.bootstrap is not None:
        decode(*codec.bootstrap(TableInfo(case.made.table, 1, 0), 0, case.options, case.release), told=told)
    return told


def assert_read(row: ReadRow, wanted: Wanted, case: Case, number: int) -> None:
    """What was read is what was to be there, in the order of the release. Old values without a name have one where it can
    be told; what selectors leave out may be blank in an old row, which readers pass over."""
    assert (row.op, row.schema, row.table) == (wanted.op, case.made.table.schema, case.made.table.name)
    nameless = wanted.nameless or {}
    found, before = (
        image and {name: image[name] for name in image if case.selected is None or name in case.selected}
        for image in (row.before, wanted.before)
    )
    told = {name: found.pop(name) for name in nameless if found and name in found}
    assert same(found, before, case), (found, before)
    assert same(row.after, wanted.after, case), (row.after, wanted.after)
    assert same(told, {name: nameless[name] for name in told}, case) and len(told) + row.nameless == len(nameless)
    assert row.commit_ts in ((1 << 40) + number, ((1 << 40) + number) >> 18 << 18)
    assert [place for texts in (found, row.after) if texts for place in ordered(texts, case)] == [
        name for texts in (found, row.after) if texts for name in texts
    ]
    if case.is_open:
        assert row.row_id == (number + 1 if case.release.open_row_ids else None)
        assert row.partition == (case.made.partition if case.release.open_partition_ids else None)


def ordered(texts: Texts, case: Case) -> list[str]:
    """The names as the release orders columns."""
    names = [column.name for column in case.made.table.columns if column.name in texts]
    if case.is_debezium:
        virtual = {column.name for column in case.made.table.columns if column.generated == "virtual"}
        behind = virtual if case.options.protocol == "debezium-avro" else ()
        return sorted(names, key=lambda name: name in behind)
    if case.is_open:
        return sorted(names, key=str.encode) if case.release.open_sorts_columns else names
    order = "name" if case.is_simple else case.release.canal_column_order
    return names if order == "table" else sorted(names, key=str.encode if order == "name" else escaped)


def escaped(name: str) -> bytes:
    """A name as it stands in JSON."""
    short = {"\\": "\\\\", '"': '\\"', "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028"}
    return f'"{"".join(short.get(char, char) for char in name)}"'.encode()


def assert_decoded(event: Event, row: ReadRow, case: Case) -> None:
    """The project's decoder says the same as the reading."""
    assert isinstance(event, RowEvent)
    assert (event.op, event.schema, event.table) == (row.op, row.schema, row.table)
    table = case.made.table
    if case.is_debezium:
        assert_debezium_decoded(event, row, table)
    elif case.is_simple:
        images = (image if image is None else row_text(image, table) for image in (event.before, event.after))
        assert (row.before, row.after) == tuple(images)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", CODECS)
@settings(max_examples=20)
@given(data=st.data())
def test_entries_do_not_depend_on_batches(protocol: str, data: st.DataObject) -> None:
    """Encoding rows at once, in any parts, each by itself, or so often that columns are not cut gives the same bytes, or
    the error of a row by itself."""
    case = data.draw(cases(protocol))
    whole, count = arrays(case), len(case.changes)
    cuts = sorted({0, count, *data.draw(st.lists(st.integers(0, count)))})
    together = outcome(whole, case)
    alone = [outcome(part(whole, place, place + 1), case) for place in range(count)]
    if isinstance(together, str):
        assert together in alone
        return
    assert together == [entry for row in alone for entry in row]
    assert together == [entry for start, end in pairwise(cuts) for entry in outcome(part(whole, start, end), case)]
    times = FEW_ROWS // count + 1
    assert together * times == outcome(often(whole, times), case)


def outcome(changes: RowChanges, case: Case) -> list[tuple[bytes | None, bytes]] | str:
    """The entries of rows, or the words in which they are refused."""
    try:
        return entries(CODECS[case.options.protocol].encode(changes, case.options, case.release))
    except EncodeError as refused:
        return refused.text


def often(whole: RowChanges, times: int) -> RowChanges:
    """The rows, again and again."""
    return replace(whole, **{name: pa.concat_arrays([getattr(whole, name)] * times) for name in OF_ROWS})


def part(whole: RowChanges, start: int, end: int) -> RowChanges:
    """Some of the rows, as views into the same buffers."""
    return replace(whole, **{name: getattr(whole, name).slice(start, end - start) for name in OF_ROWS})


def entries(made: EncodedRows) -> list[tuple[bytes | None, bytes]]:
    """Key and value of each row."""
    keys = [None] * len(made.values) if made.keys is None else made.keys.to_pylist()
    return list(zip(keys, made.values.to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SIZED)
@few
@given(data=st.data(), batch=st.integers(1, 5), groups=st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_messages_keep_limits_and_order(protocol: str, data: st.DataObject, batch: int, groups: list[int]) -> None:
    """No message is above max-message-bytes or max-batch-size or of two groups; rows come in order, none is lost. A row
    one byte above the limit is refused, where the release looks at sizes."""
    case = data.draw(cases(protocol))
    encoding = encoded_if_not_refused(case)
    if encoding is None:
        return
    counted = sizes(entries(encoding), case)
    above = replace(case, options=replace(case.options, max_message_bytes=max(counted) - 1))
    if looks_at_sizes(case):
        with pytest.raises(EncodeError, match="too large"):
            encoded(above)
    else:
        assert entries(encoded(above)) == entries(encoding)
    limit = data.draw(st.just(max(counted)) | st.integers(max(counted), sum(counted)))
    case = replace(case, options=replace(case.options, max_batch_size=batch, max_message_bytes=limit))
    made, group = encoded(case), groups[: len(case.changes)]
    frames = framed(made, case, group)
    runs = [group[start:end] for start, end in pairwise(frames.first_row.to_pylist())]
    assert [number for run in runs for number in run] == group
    assert all(len(set(run)) == 1 for run in runs)
    assert entries(made) == [entry for message in messages(frames) for entry in unframed_message(message, case)]
    if not case.is_open or case.release.open_batch_size:
        kafka = overhead(case) - (24 if case.is_open else 0)
        assert all(len(key or b"") + len(value) + kafka <= limit for key, value in messages(frames))
        assert all(len(run) <= batch for run in runs)


def unframed_message(message: tuple[bytes | None, bytes], case: Case) -> list[tuple[bytes | None, bytes]]:
    """The entries of a message."""
    key, value = message
    return [message] if key is None or not case.is_open else list(zip(unframed(key[8:]), unframed(value), strict=True))


def looks_at_sizes(case: Case) -> bool:
    """Whether the release compares rows of the protocol with max-message-bytes: Debezium's never."""
    if case.is_open:
        return bool(case.release.size_error)
    return case.is_simple or case.options.protocol == "canal-json" and case.release.canal_size_limit


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SHORTENED)
@few
@given(data=st.data())
def test_a_row_that_is_too_large_is_cut_down_to_its_key(protocol: str, data: st.DataObject) -> None:
    """With handle-key-only, where the release has it; the rows that are small enough stay whole. Rows are refused if one of
    them is too large even so, by itself."""
    case = data.draw(cases(protocol))
    large = replace(case.options, large_message_handle_option="handle-key-only")
    options = supported_options(replace(large, enable_tidb_extension=protocol == "canal-json"), case.release)
    case = replace(case, options=options)
    encoding = encoded_if_not_refused(case)
    keyed = handle_columns(case.made.table, case.release) & set(case.made.values)
    if encoding is None or options.large_message_handle_option == "none" or not keyed:
        return
    whole = sizes(entries(encoding), case)
    least = [size_when_cut(case, number, size) for number, size in enumerate(whole)]
    limit = data.draw(
        st.integers(min(whole) - 1, max(whole)) | st.sampled_from([*least, *(size - 1 for size in least)])
    )
    limited = replace(case, options=replace(options, max_message_bytes=limit))
    if any(limit < min(sizes) for sizes in zip(whole, least, strict=True)):
        with pytest.raises(EncodeError, match="too large"):
            encoded(limited)
        return
    made = encoded(limited)
    found = [row for message in messages(framed(made, case)) for row in read(message, case)]
    for number, (change, row) in enumerate(zip(case.changes, found, strict=True)):
        cut = whole[number] > limit
        assert row.handle_only == cut
        assert_read(row, cut_down(case, expected(case, change)) if cut else expected(case, change), case, number)


def size_when_cut(case: Case, number: int, whole: int) -> int:
    """The size of a row that is cut down to its handle key; its whole one if it has hardly more than that."""
    limited = replace(case.options, max_message_bytes=whole - 1)
    alone = outcome(part(arrays(case), number, number + 1), replace(case, options=limited))
    if not isinstance(alone, str):
        return sizes(alone, case)[0]
    sent = set(case.made.values) if case.selected is None else set(case.selected)
    dropped = sent - handle_columns(case.made.table, case.release)
    images = [image for image in case.changes[number] if image is not None]
    assert not any(len(image.get(name) or "") > 40 for image in images for name in dropped)
    return whole
