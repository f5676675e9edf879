"""The streams of every release keep the contract, and replay to the final rows as far as their messages allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from support import codec_rows
from support.codec_expected import Case
from support.codec_refusals import refusal, too_large
from support.codec_rows import image, rows
from support.contract_checks import find_violations
from support.oracle import compare, events, replay, state_of, unknown
from support.random_tables import Change, RandomTable, Values, numbered_tables
from support.replaying import replayed
from support.transaction import Row, net, sent

from simulator.columns.change_frame import UPDATE
from simulator.consumer.contract.null_readings import texts_like_null
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.records import Record
from simulator.errors import EncodeError
from simulator.releases import RELEASES, Release, find
from simulator.ticdc.changefeed.model import Changefeed, Kafka
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.ticdc.split import split_rule
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.types import family

OPTIONS: dict[str, dict[str, Any]] = {
    "open-protocol": {
        "": {},
        "updated": {"only_output_updated_columns": True},
        "no old": {"output_old_value": False},
        "keys": {"delete_only_output_handle_key_columns": True},
        "old value off": {"enable_old_value": False},
        "cut": {"large_message_handle_option": "handle-key-only"},
    },
    "canal-json": {
        "": {},
        "extension": {"enable_tidb_extension": True},
        "updated": {"only_output_updated_columns": True},
        "keys": {"delete_only_output_handle_key_columns": True},
        "compatible": {"content_compatible": True},
        "cut": {"large_message_handle_option": "handle-key-only", "enable_tidb_extension": True},
    },
}
FIRST = 1 << 40


@st.composite
def histories(draw: DrawFn) -> tuple[RandomTable, list[Change]]:
    """Changes of a table one after another, each of a row as the one before left it."""
    made = draw(numbered_tables())
    rows: dict[str, Values] = {}
    history: list[Change] = []
    for number in draw(st.lists(st.integers(0, 3), min_size=1, max_size=8)):
        key = str(number)
        old = rows.pop(key, None)
        new: Values | None = None
        if old is None or draw(st.integers(0, 3)):
            kept = {} if old is None else {name: old[name] for name in old if draw(st.booleans())}
            new = rows[key] = {
                name: kept.get(name) if name in kept else draw(values) for name, values in made.values.items()
            } | {"id": key}
        history.append((in_order(made, old), in_order(made, new)))
    return made, history


def in_order(made: RandomTable, values: Values | None) -> Values | None:
    return values and {column.name: values[column.name] for column in made.table.columns}


def stream(
    made: RandomTable,
    history: Sequence[codec_rows.Change],
    options: CodecOptions,
    release: Release,
    at: Sequence[int] | None = None,
) -> Iterator[Record]:
    """The messages of the history in one partition, each change at its millisecond, and a last watermark."""
    codec = CODECS[options.protocol]
    arrays = rows(made.table, history, made.binary)
    spread = replace(
        arrays, commit_ts=pa.array([FIRST + (number << 18) for number in at or range(len(history))], pa.int64())
    )
    framed = codec.frame(codec.encode(spread, options, release), np.zeros(len(history), np.int64), options, release)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    entry = codec.watermark(FIRST + (99 << 18), options, release)
    last = [] if entry is None else [codec.message(entry, options, release)]
    for offset, (key, value) in enumerate([*zip(keys, framed.values.to_pylist(), strict=True), *last]):
        yield Record("t", 0, offset, 0, key, value)


def refused(case: Case) -> bool:
    """Whether the release refuses a row of the history, by its values or by its size."""
    if refusal(case):
        return True
    unlimited = replace(case.options, max_message_bytes=1 << 40)
    made = CODECS[case.options.protocol].encode(
        rows(case.made.table, case.changes, case.made.binary), unlimited, case.release
    )
    keys = [None] * len(made.values) if made.keys is None else made.keys.to_pylist()
    entries = list(zip(keys, made.values.to_pylist(), strict=True))
    return too_large(entries, case, case.options.max_message_bytes)


def stream_spec(made: RandomTable, options: CodecOptions, release: Release) -> StreamSpec:
    changefeed = Changefeed("kafka", "t", options, Kafka(("127.0.0.1:9092",)))
    return stream_spec_of(changefeed, [made.table], {"t": 1}, release=release)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), [(protocol, name) for protocol in OPTIONS for name in OPTIONS[protocol]])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_stream_leads_to_the_final_rows(protocol: str, name: str, data: st.DataObject) -> None:
    """No rule is violated, and only values that messages lack are unknown."""
    release = data.draw(
        st.sampled_from(
            [
                release
                for of in RELEASES.values()
                for release in of.values()
                if protocol == "open-protocol" or protocol in release.protocols
            ]
        )
    )
    made, history = data.draw(histories())
    asked = replace(CodecOptions(protocol), **OPTIONS[protocol][name])
    options = supported_options(asked, release)
    if name == "cut":
        options = replace(options, max_message_bytes=data.draw(st.integers(450, 900)))
    case = Case(release, made, options, tuple(history))
    if refused(case):
        with pytest.raises(EncodeError, match=re.escape(str(refusal(case))) or "too large"):
            list(stream(made, history, options, release))
        return
    records = list(stream(made, history, options, release))
    said = stream_spec(made, options, release)
    assert [] == list(find_violations(records, said))
    done = replay(events(records, said), {}, said.tables, said.fidelity)
    left = {str((new or old or {})["id"]): new for old, new in history}
    images = [image(new, made.table, made.binary) for new in left.values()]
    expected = state_of((made.table, data) for data in images if data is not None)
    assert [] == [*done.violations, *compare(done.state, expected, said.tables)]
    assert_leads(records, said, images, options, release)
    assert_told(unknown(done.state, said.tables).get(("shop", "t"), {}), made, options, release)


KEYED = RandomTable(
    create_table("CREATE TABLE t (id INT PRIMARY KEY, uk INT UNIQUE, v INT)", "shop"), {}, frozenset(), None
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tag", "architecture", "protocol", "name"),
    [
        ("v8.5.3", "classic", "open-protocol", "updated"),
        ("v8.5.3", "classic", "open-protocol", "no old"),
        ("v8.5.3", "classic", "canal-json", "updated"),
        ("v8.5.7", "new", "open-protocol", "updated"),
        ("v6.5.4", "classic", "open-protocol", ""),
        ("v5.4.0", "classic", "canal-json", "extension"),
    ],
)
@settings(max_examples=25)
@given(kinds=st.lists(st.integers(0, 3), min_size=6, max_size=6))
@example([0, 2, 0, 0, 3, 1])
def test_a_row_changed_and_changed_back_is_an_update_with_equal_images(
    tag: str, architecture: str, protocol: str, name: str, kinds: list[int]
) -> None:
    """It is never split, stands among the UPDATEs of its transaction, and leaves the row as it is; of a row inserted
    and deleted again nothing is sent."""
    release = find(tag, architecture)
    options = supported_options(replace(CodecOptions(protocol), **OPTIONS[protocol][name]), release)
    before: list[Row | None] = [row(key, key, 0) for key in range(3)]
    history: list[tuple[Row | None, Row | None]] = [(None, new) for new in before]
    at = [0] * len(history)
    for number, of in enumerate((kinds[:3], kinds[3:]), 1):
        after = [
            (old, None, row(key, key, 1), row(key, key + 3 * number, 0))[kind]
            for key, (old, kind) in enumerate(zip(before, of))
        ]
        found = sent(KEYED.table, net(KEYED.table, [*zip(before, after)]), split_rule(release))
        assert all(event.op == UPDATE for event in found if event.before == event.after)
        history += [(event.before, event.after) for event in found]
        at += [number] * len(found)
        before = after
    records, said = list(stream(KEYED, history, options, release, at)), stream_spec(KEYED, options, release)
    assert [] == list(find_violations(records, said))
    done = replay(events(records, said), {}, said.tables, said.fidelity)
    left = [image(values, KEYED.table, frozenset()) for values in before if values]
    expected = state_of((KEYED.table, data) for data in left if data is not None)
    assert [] == [*done.violations, *compare(done.state, expected, said.tables)]
    assert_leads(records, said, left, options, release)


def assert_leads(
    records: Sequence[Record], said: StreamSpec, images: Sequence[bytes | None], options: CodecOptions, release: Release
) -> None:
    """Every change begins with what the one before left, and the last ones leave these rows."""
    (name,), unlimited = said.tables, replace(options, max_message_bytes=1 << 40)
    after = {name: [data for data in images if data is not None]}
    found = replayed(
        records,
        said.protocol,
        said.tables.values(),
        after=after,
        fidelity=said.fidelity,
        like_null=partial(texts_like_null, options=unlimited, release=release),
    )
    assert ({}, (), {}) == (found.counts, found.examples, found.not_compared)


def row(id: int, uk: int, v: int) -> Row:
    return {"id": str(id), "uk": str(uk), "v": str(v)}


def assert_told(hidden: Any, made: RandomTable, options: CodecOptions, release: Release) -> None:
    """Columns are unknown where messages were cut, or for one of the release's reasons."""
    columns = {column.name: column for column in made.table.columns}
    lossy = {
        "canal-json": not release.canal_latin1_strings
        or release.canal_text_null
        or release.canal_zero_null
        or release.canal_whole_seconds,
        "open-protocol": not release.open_time_fraction or release.open_zero_is_null or not release.open_generated,
    }
    if options.large_message_handle_option == "none" and not lossy[options.protocol]:
        assert not hidden, [family(columns[name].type) for name in hidden]
