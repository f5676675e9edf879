"""The streams of every release keep the contract, whatever dispatches their rows, and replay to the final rows as far as
their messages allow."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from support import codec_rows
from support.codec_expected import Case
from support.codec_refusals import refusal
from support.codec_rows import image, rows
from support.contract_checks import find_violations
from support.playing import replayed
from support.random_tables import Change, RandomTable, Values, numbered_tables
from support.transaction import Row, net, sent

from simulator.columns import row_image
from simulator.columns.change_frame import UPDATE
from simulator.errors import EncodeError
from simulator.reader.contract.destinations import KnownByTable
from simulator.reader.contract.message_writer import MessageWriter
from simulator.reader.contract.null_texts import texts_like_null
from simulator.reader.contract.stream_spec import releases_by_fidelity, stream_spec_of
from simulator.reader.records import Record
from simulator.releases import RELEASES, V8_5, Release, find
from simulator.ticdc.changefeed import Changefeed, DispatchRule, Kafka, load
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.ticdc.dispatch import route, router
from simulator.ticdc.dispatch.destinations import choose_partitions, dispatch_hashes
from simulator.ticdc.split import split_rule
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import visible_columns

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
RULES = ("table", "index-value", "ts", "columns")
FIRST = 1 << 40
PARTITIONS = 3


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


def changefeed(made: RandomTable, options: CodecOptions, dispatcher: str = "table") -> Changefeed:
    columns = (made.table.columns[-1].name,) if dispatcher == "columns" else ()
    rule = DispatchRule(("*.*",), dispatcher, columns=columns)
    return Changefeed("kafka", "t", options, Kafka(("127.0.0.1:9092",)), dispatchers=(rule,))


def stream(
    made: RandomTable,
    history: Sequence[codec_rows.Change],
    feed: Changefeed,
    release: Release,
    at: Sequence[int] | None = None,
) -> Iterator[Record]:
    """The messages of the history where its dispatcher puts them, each change at its millisecond, and a last watermark
    in each partition."""
    table, options, codec = made.table, feed.codec, CODECS[feed.codec.protocol]
    times = np.array([FIRST + (number << 18) for number in at or range(len(history))], np.int64)
    whole, to = rows(table, history, made.binary), route(router(feed, release), table)
    names = [column.name for column in visible_columns(table)]
    hashed = dispatch_hashes(to, table, row_image.named(pc.coalesce(whole.after, whole.before), names))
    chosen = choose_partitions(to, hashed, times, pa.nulls(len(times), pa.int64()), PARTITIONS)
    entry = codec.watermark(FIRST + (99 << 18), options, release)
    for partition in range(PARTITIONS):
        mine = np.flatnonzero(chosen == partition).tolist()
        messages: list[tuple[bytes | None, bytes]] = []
        if mine:
            changes = rows(table, [history[number] for number in mine], made.binary)
            encoded = codec.encode(replace(changes, commit_ts=pa.array(times[mine])), options, release)
            framed = codec.frame(encoded, np.zeros(len(mine), np.int64), options, release)
            keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
            messages += zip(keys, framed.values.to_pylist(), strict=True)
        messages += [] if entry is None else [codec.message(entry, options, release)]
        for offset, (key, value) in enumerate(messages):
            yield Record("t", partition, offset, 0, key, value)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), [(protocol, name) for protocol in OPTIONS for name in OPTIONS[protocol]])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_stream_leads_to_the_final_rows(protocol: str, name: str, data: st.DataObject) -> None:
    """No rule is violated, and only values that messages lack are unknown; in other partitions all rows are wrong."""
    every = [release for of in RELEASES.values() for release in of.values()]
    able = [release for release in every if protocol in ("open-protocol", *release.protocols)]
    release = data.draw(st.sampled_from(able))
    made, history = data.draw(histories())
    options = supported_options(replace(CodecOptions(protocol), **OPTIONS[protocol][name]), release)
    if options.large_message_handle_option != "none":
        options = replace(options, max_message_bytes=data.draw(st.integers(600, 900)))
    refused = refusal(Case(release, made, options, tuple(history)))
    exact = options.large_message_handle_option == "none" and not loses_values(options, release)
    rules = [name for name in RULES if name in release.dispatchers and (exact or name != "columns")]
    feed = changefeed(made, options, data.draw(st.sampled_from(rules)))
    if refused:
        with pytest.raises(EncodeError, match=re.escape(str(refused))):
            list(stream(made, history, feed, release))
        return
    left = {str((new or old or {})["id"]): image(new, made.table, made.binary) for old, new in history}
    unknown = assert_leads(list(stream(made, history, feed, release)), feed, made, [*left.values()], release)
    assert not unknown or not exact


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
@settings(max_examples=12)
@given(kinds=st.lists(st.integers(0, 3), min_size=6, max_size=6))
@example([0, 2, 0, 0, 3, 1])
def test_a_row_changed_and_changed_back_is_an_update_with_equal_images(
    tag: str, architecture: str, protocol: str, name: str, kinds: list[int]
) -> None:
    """It is never split, stands among the UPDATEs of its transaction, and leaves the row as it is; of a row inserted
    and deleted again nothing is sent."""
    release = find(tag, architecture)
    options = supported_options(replace(CodecOptions(protocol), **OPTIONS[protocol][name]), release)
    feed = changefeed(KEYED, options)
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
    left = [image(values, KEYED.table, frozenset()) for values in before]
    assert_leads(list(stream(KEYED, history, feed, release, at)), feed, KEYED, left, release)


def assert_leads(
    records: Sequence[Record], feed: Changefeed, made: RandomTable, images: Sequence[bytes | None], release: Release
) -> Mapping[str, int]:
    """Every change begins with what the one before left, and the last ones leave these rows; returns how many values
    are unknown by column."""
    spec = stream_spec_of(feed, [made.table], {"t": PARTITIONS}, release=release)
    assert [] == list(find_violations(records, spec))
    turned = (replace(record, partition=(record.partition + 1) % PARTITIONS) for record in records)
    no_ts = feed.dispatchers[0].partition == "ts" and feed.codec.protocol == "canal-json" and not spec.watermarks
    wrong = set() if no_ts else {"wrong-partition"}
    assert wrong == {violation.check for violation in find_violations(turned, spec)}
    (name,), unlimited = spec.tables, replace(feed.codec, max_message_bytes=1 << 40)
    found = replayed(
        records,
        spec.protocol,
        spec.tables.values(),
        after={name: [data for data in images if data is not None]},
        fidelity=spec.fidelity,
        like_null=partial(texts_like_null, options=unlimited, release=release),
    )
    assert ({}, (), {}) == (found.counts, found.examples, found.not_compared)
    return found.unknown.get("shop.t", {})


def row(id: int, uk: int, v: int) -> Row:
    return {"id": str(id), "uk": str(uk), "v": str(v)}


def loses_values(options: CodecOptions, release: Release) -> bool:
    """Whether messages of the release do not tell all values apart."""
    if options.protocol == "open-protocol":
        return not release.open_time_fraction or release.open_zero_is_null or not release.open_generated
    said = release.canal_text_null or release.canal_zero_null or release.canal_whole_seconds
    return not release.canal_latin1_strings or said


def test_a_writer_of_another_release_knows_what_that_one_does() -> None:
    """And not what the first one found, which it was made of."""
    table = create_table("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) DEFAULT 'x', d DATE)", "s")
    feed = load("kafka://h:1/t?protocol=debezium", "", V8_5)
    writer = MessageWriter(feed, V8_5, (table,))
    writer.like_null(table)
    found = {}
    for release in releases_by_fidelity(feed.codec).values():
        found[release.name] = replace(writer, release=release).like_null(table)
        assert found[release.name] == texts_like_null(table, writer.options, release)

    assert len({*map(str, found.values())}) > 1


def test_what_is_known_of_tables_does_not_go_to_another_process() -> None:
    """Where another table may have the number that stands for one here."""
    known, table = KnownByTable[str](), create_table("CREATE TABLE t (id INT PRIMARY KEY)", "s")
    assert known.of(table, lambda table: "here") == known.of(table, lambda table: "again") == "here"
    assert pickle.loads(pickle.dumps(known)).of(table, lambda table: "there") == "there"
