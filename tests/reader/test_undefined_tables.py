"""Row changes of tables without a known definition are checked against each other, as far as messages identify rows."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest
from support.contract_checks import Ddl, good, records
from support.playing import replayed

from simulator import TiCDC
from simulator.reader.decode import RowEvent, decode
from simulator.reader.records import Record
from simulator.reader.replay.normalize import marked_may_be_equal
from simulator.reader.replay.outcome import ReplayOutcome

OPTIONS = ("open-protocol", "canal-json&enable-tidb-extension=true", "canal-json")
STATEMENTS = (
    "INSERT INTO t VALUES (1, 'x', 1.5, 'a', x'ff01'), (2, 'y', NULL, 'b', NULL)",
    "UPDATE t SET f = 2.5, e = 'b' WHERE id = 1",
    "UPDATE t SET id = 3 WHERE id = 2",
    "DELETE FROM t WHERE id = 1",
    "INSERT INTO t VALUES (1, 'x', 3.5, 'a', x'ff01')",
    "ALTER TABLE t ADD COLUMN n INT DEFAULT 4",
    "UPDATE t SET f = 9 WHERE id = 1",
    "RENAME TABLE t TO u",
    "UPDATE u SET f = 8 WHERE id = 1",
    "TRUNCATE TABLE u",
    "INSERT INTO u VALUES (1, 'x', 3.5, 'a', x'ff01', 5)",
    "INSERT INTO n VALUES (1)",
)


@cache
def stream(options: str) -> tuple[Record, ...]:
    """A stream that begins when its tables are there."""
    with TiCDC(sink_uri=f"kafka://127.0.0.1:9092/t?protocol={options}", config="force-replicate = true") as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT, k VARCHAR(10), f FLOAT, e ENUM('a', 'b'), b VARBINARY(9), "
            "PRIMARY KEY (k, id)); CREATE TABLE n (id INT)"
        )
        ticdc.messages()
        for statement in STATEMENTS:
            ticdc.execute(statement)
        sent = ticdc.messages()
    return tuple(Record(each.topic, each.partition, each.offset, 0, each.key, each.value) for each in sent)


def replay(some: tuple[Record, ...], options: str) -> ReplayOutcome:
    return replayed(some, options.split("&")[0], ())


def without(options: str, op: str, number: int = 0) -> tuple[Record, ...]:
    """The stream without the change of that kind."""
    whole = stream(options)
    places = [
        place
        for place, record in enumerate(whole)
        for event in decode(record.key, record.value, options.split("&")[0])
        if isinstance(event, RowEvent) and event.op == op and event.table == "t"
    ]
    return whole[: places[number]] + whole[places[number] + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_row_changes_of_ticdc_agree_across_statements(options: str) -> None:
    """The table starts anew after a statement; a table without a handle key is not checked."""
    found = replay(stream(options), options)
    assert ({}, ()) == (found.counts, found.examples)
    alone = (
        "nobody says how it is defined then, so that they are held against each other alone (--truth DIR of the run, or "
        "--before DIR, tells)"
    )
    no_key = "nobody says how it is defined then, and messages do not tell its handle key"
    assert {("test.t", alone): 8, ("test.u", alone): 2, ("test.n", no_key): 1} == found.not_compared


@pytest.mark.parametrize("options", OPTIONS)
def test_a_lost_update_shows_in_the_next_old_image(options: str) -> None:
    found = replay(without(options, "UPDATE"), options)
    assert {("old-image", "test.t"): 1} == found.counts
    assert "test.t, row 1, x: " in found.examples[0].what
    assert "f was '1.5', the old image says '2.5'" in found.examples[0].what


@pytest.mark.parametrize("options", OPTIONS)
def test_a_row_is_not_inserted_twice(options: str) -> None:
    found = replay(without(options, "DELETE", -1), options)
    assert {("row-already-there", "test.t"): 1} == found.counts
    assert ["test.t, row 1, x: was inserted, and was there already"] == [each.what for each in found.examples]


@pytest.mark.parametrize("protocol", ["open-protocol", "canal-json"])
def test_partitions_and_repeated_rows_do_no_harm(protocol: str) -> None:
    """A key moves between partitions and back."""
    made = good()
    for messages in made.values():
        messages[:] = [events for events in messages if not isinstance(events[0], Ddl)]
    assert {} == replayed(list(records(made, protocol)) * 2, protocol, ()).counts


def test_images_of_two_layouts_are_not_compared() -> None:
    images = pa.array([b"aaaaaaaa\xff1\xff2", b"aaaaaaaa\xff1\xff2", b"aaaaaaaa\xff1\xfe"], pa.binary())
    others = pa.array([b"bbbbbbbb\xff1", b"aaaaaaaa\xff1\xff3", b"aaaaaaaa\xff1\xfe"], pa.binary())
    assert [True, False, True] == marked_may_be_equal(images, others).tolist()
