"""Laws of the codecs: a message holds its row and nothing else, whatever release, table, row and options."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from codec_expected import Case, expected, same
from codec_readings import Reading, Texts, canal, opened
from codec_rows import rows, unframed
from random_tables import changes, tables
from simulator.codecs import CODECS, CodecOptions, Encoded, Messages, Rows
from simulator.decode import Event, RowEvent, decode, row_text
from simulator.errors import EncodeError
from simulator.releases import RELEASES, Release
from simulator.schema.keys import handle_key
from simulator.schema.table import Table

UNDER_TEST = [one for of in RELEASES.values() for one in of.values() if one.encodes_rows]
SWITCHES = (
    "enable_tidb_extension", "only_output_updated_columns", "delete_only_output_handle_key_columns",
    "content_compatible", "output_old_value")
few = settings(max_examples=30, deadline=None)


def releases_of(protocol: str) -> list[Release]:
    """The releases that have the protocol; Open Protocol is the default before it has a name."""
    return [one for one in UNDER_TEST if protocol == "open-protocol" or protocol in one.protocols]


@st.composite
def cases(draw: DrawFn, protocol: str) -> Case:
    """Changes of a table under a release's protocol with options."""
    release = draw(st.sampled_from(releases_of(protocol)))
    made = draw(tables())
    switches: dict[str, Any] = {name: draw(st.booleans()) for name in SWITCHES}
    options = replace(CodecOptions(protocol, build_ts=0), **switches)
    return Case(release, made, options, tuple(draw(changes(made))))


def encoded(case: Case) -> Encoded:
    """The case's rows as entries."""
    return CODECS[case.options.protocol].encode(arrays(case), case.options, case.release)


def arrays(case: Case) -> Rows:
    """The case's rows as the codecs take them."""
    return replace(rows(case.made.table, case.changes, case.made.binary), partition_id=case.made.partition)


def read(message: tuple[bytes | None, bytes], case: Case) -> list[Reading]:
    """The rows of a message by this directory's own reading."""
    key, value = message
    if key is None:
        return [canal(value, case.made.table, case.release.tidb_extension)]
    return opened(key, value, case.made.table)


def messages(framed: Messages) -> list[tuple[bytes | None, bytes]]:
    """Key and value of each."""
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return list(zip(keys, framed.values.to_pylist(), strict=True))


def framed(made: Encoded, case: Case) -> list[tuple[bytes | None, bytes]]:
    """Messages of entries that are all of one group."""
    group = np.zeros(len(made.values), np.int64)
    return messages(CODECS[case.options.protocol].frame(made, group, case.options, case.release))


def keyless(case: Case) -> bool:
    """Whether a DELETE would hold nothing, which Open Protocol does not send."""
    deletes = any(after is None for _, after in case.changes)
    return deletes and case.options.delete_only_output_handle_key_columns and not handle_key(case.made.table)


@pytest.mark.parametrize("protocol", CODECS)
@few
@given(data=st.data())
def test_a_message_gives_back_its_row(protocol: str, data: st.DataObject) -> None:
    """Every column that the options leave is there with its value, and no other; in either reading."""
    case = data.draw(cases(protocol))
    if keyless(case) and protocol == "open-protocol":
        with pytest.raises(EncodeError, match="not found handle key columns for the delete event"):
            encoded(case)
        return
    made = framed(encoded(case), case)
    found = [reading for message in made for reading in read(message, case)]
    events = [event for message in made for event in decode(*message)]
    for number, (change, one, event) in enumerate(zip(case.changes, found, events, strict=True)):
        op, before, after = expected(case, change)
        assert (one.op, one.schema, one.table) == (op, case.made.table.schema, case.made.table.name)
        assert same(one.before, before, case) and same(one.after, after, case), (one, before, after)
        assert one.commit_ts in ((1 << 40) + number, ((1 << 40) + number) >> 18 << 18)
        assert_decoded(event, one, case)


def assert_decoded(event: Event, one: Reading, case: Case) -> None:
    """The project's decoder says the same."""
    assert isinstance(event, RowEvent)
    assert (event.op, event.schema, event.table) == (one.op, one.schema, one.table)
    for image, wanted in ((event.before, one.before), (event.after, one.after)):
        assert (None if image is None else row_text(image, case.made.table)) == ordered(wanted, case.made.table)


def ordered(texts: Texts | None, table: Table) -> Texts | None:
    """Columns in table order."""
    return None if texts is None else {one.name: texts[one.name] for one in table.columns if one.name in texts}


@pytest.mark.parametrize("protocol", CODECS)
@few
@given(data=st.data())
def test_entries_do_not_depend_on_batches(protocol: str, data: st.DataObject) -> None:
    """Encoding rows at once, in any parts, and each by itself gives the same bytes."""
    case = data.draw(cases(protocol))
    whole = arrays(case)
    cuts = sorted({0, len(case.changes), *data.draw(st.lists(st.integers(0, len(case.changes))))})
    try:
        together = entries(encoded(case))
    except EncodeError:
        return
    for edges in (cuts, range(len(case.changes) + 1)):
        parts = [part(whole, start, end) for start, end in pairwise(edges)]
        made = [CODECS[protocol].encode(one, case.options, case.release) for one in parts]
        assert together == [entry for one in made for entry in entries(one)]


def part(whole: Rows, start: int, end: int) -> Rows:
    """Some of the rows, as views into the same buffers."""
    return replace(whole, **{
        name: getattr(whole, name).slice(start, end - start) for name in ("commit_ts", "row_id", "before", "after")})


def entries(made: Encoded) -> list[tuple[bytes | None, bytes]]:
    """Key and value of each row."""
    keys = [None] * len(made.values) if made.keys is None else made.keys.to_pylist()
    return list(zip(keys, made.values.to_pylist(), strict=True))


@pytest.mark.parametrize("protocol", CODECS)
@few
@given(data=st.data(), batch=st.integers(1, 5), groups=st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_messages_keep_to_their_limits_and_the_order(
    protocol: str, data: st.DataObject, batch: int, groups: list[int],
) -> None:
    """No message is above max-message-bytes or max-batch-size or of two groups; rows come in order, none is lost."""
    case = data.draw(cases(protocol))
    try:
        sizes = [len(key or b"") + len(value) for key, value in entries(encoded(case))]
    except EncodeError:
        return
    overhead = 36 + 24 if protocol == "open-protocol" else 36
    limit = data.draw(st.integers(max(sizes) + overhead, sum(sizes) + overhead * len(sizes)))
    case = replace(case, options=replace(case.options, max_batch_size=batch, max_message_bytes=limit))
    made, group = encoded(case), groups[:len(case.changes)]
    frames = CODECS[protocol].frame(made, np.array(group, np.int64), case.options, case.release)
    assert all(len(key or b"") + len(value) + 36 <= limit for key, value in messages(frames))
    runs = [group[start:end] for start, end in pairwise(frames.first_row.to_pylist())]
    assert [one for run in runs for one in run] == group
    assert all(len(set(run)) == 1 and len(run) <= batch for run in runs)
    assert entries(made) == [entry for message in messages(frames) for entry in unframed_message(message)]


def unframed_message(message: tuple[bytes | None, bytes]) -> list[tuple[bytes | None, bytes]]:
    """The entries of a message."""
    key, value = message
    return [(None, value)] if key is None else list(zip(unframed(key[8:]), unframed(value), strict=True))


@pytest.mark.parametrize("protocol", CODECS)
@few
@given(data=st.data())
def test_a_row_one_byte_above_the_limit_is_refused(protocol: str, data: st.DataObject) -> None:
    """And one at the limit is not: TiCDC counts key, value and what Kafka adds."""
    case = data.draw(cases(protocol))
    try:
        sizes = [len(key or b"") + len(value) for key, value in entries(encoded(case))]
    except EncodeError:
        return
    limit = max(sizes) + (36 + 24 if protocol == "open-protocol" else 36)
    encoded(replace(case, options=replace(case.options, max_message_bytes=limit)))
    with pytest.raises(EncodeError, match="message is too large"):
        encoded(replace(case, options=replace(case.options, max_message_bytes=limit - 1)))
