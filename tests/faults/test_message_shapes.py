"""Faults of the shape of messages: how many rows they hold, how large they are, and what is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator import Message, TiCDC
from simulator.errors import EncodeError, UserError
from simulator.reader.decode import RowEvent, decode

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=1"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=1&enable-tidb-extension=true"
TABLES = "CREATE TABLE shop.a (id INT PRIMARY KEY, b VARCHAR(2000)); CREATE TABLE shop.c (id INT PRIMARY KEY)"
INSERTED = (*(f"shop.a VALUES ({n}, 'x')" for n in range(20)), *(f"shop.c VALUES ({n})" for n in range(3)))
ROWS = "; ".join(("BEGIN", *(f"INSERT INTO {values}" for values in INSERTED), "COMMIT"))


def rows(message: Message) -> list[RowEvent]:
    return [event for event in decode(message.key, message.value) if isinstance(event, RowEvent)]


def batches(ticdc: TiCDC) -> list[str]:
    """Return the tables of the rows of each message."""
    found = [rows(message) for message in ticdc.messages()]
    return ["".join(event.table for event in events) for events in found if events]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "events", "wanted"),
    [
        ("v6.5.6", 16, ["a" * 16, "a" * 4 + "ccc"]),
        ("v6.5.6", 2, ["aa"] * 10 + ["cc", "c"]),
        ("v6.5.6", 1, ["a"] * 20 + ["c"] * 3),
        ("v8.5.3", 8, ["a" * 8, "a" * 8, "a" * 4, "ccc"]),
    ],
)
def test_a_message_has_so_many_rows_at_most(release: str, events: int, wanted: list[str]) -> None:
    """Of all tables where the release mixes them, else of one."""
    with TiCDC(release, sink_uri=OPEN) as ticdc:
        ticdc.execute(TABLES)
        ticdc.fault("batch", events=events)
        ticdc.execute(ROWS)
        assert batches(ticdc) == wanted


def test_batches_of_one_table_alone_are_cut_and_only_for_as_long_as_it_lasts() -> None:
    with TiCDC("v8.5.3", sink_uri=OPEN) as ticdc:
        ticdc.execute(TABLES)
        ticdc.fault("batch", **{"events": 1, "table": "shop.c", "for": "1s"})
        ticdc.execute(ROWS)
        ticdc.wait("2s")
        ticdc.execute("INSERT INTO shop.c VALUES (11), (12), (13)")
        assert batches(ticdc) == ["a" * 16, "aaaa", "c", "c", "c", "ccc"]


@pytest.mark.parametrize(
    ("uri", "events", "why"),
    [
        (CANAL, 2, "TiCDC v8.5.3 with Canal-JSON puts each row into a message of its own"),
        (OPEN, 17, "events = 17 is above max-batch-size = 16"),
        (OPEN, 0, "expected a whole number from 1 to 1,000,000, got 0"),
    ],
)
def test_batches_that_there_cannot_be_are_refused(uri: str, events: int, why: str) -> None:
    with TiCDC("v8.5.3", sink_uri=uri) as ticdc, pytest.raises(UserError, match=re.escape(why)):
        ticdc.fault("batch", events=events)


@pytest.mark.parametrize("uri", [OPEN, CANAL])
def test_the_next_rows_are_cut_down_to_their_handle_key(uri: str) -> None:
    large = {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "handle-key-only"}}}}
    with TiCDC("v8.5.3", sink_uri=uri, config=large) as ticdc:
        ticdc.execute(f"{TABLES}; INSERT INTO shop.a VALUES (1, 'x')")
        ticdc.fault("large-message", rows=2, table="shop.a")
        ticdc.execute("INSERT INTO shop.c VALUES (1); INSERT INTO shop.a VALUES (2, 'x')")
        ticdc.execute("UPDATE shop.a SET b = 'y'")
        found = [event for message in ticdc.messages() for event in rows(message)]

    wanted = [("a", False), ("c", False), ("a", True), ("a", True), ("a", False)]
    assert [(event.table, event.only_handle) for event in found] == wanted


def test_a_row_taken_for_too_large_lies_in_a_file_as_one_that_is(tmp_path: Path) -> None:
    handle = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{tmp_path}"}
    config = {"sink": {"kafka-config": {"large-message-handle": handle}}}
    with TiCDC("v8.5.3", sink_uri=CANAL, config=config) as ticdc:
        ticdc.execute(TABLES)
        ticdc.fault("large-message")
        ticdc.execute("INSERT INTO shop.a VALUES (1, 'x')")
        found = [event for message in ticdc.messages() for event in rows(message)]

    assert [event.stored_at for event in found] == [f"file://{path}" for path in tmp_path.iterdir()]


@pytest.mark.parametrize(("release", "uri"), [("v8.5.3", CANAL), ("v6.5.0", CANAL), ("v5.4.0", OPEN)])
def test_where_there_is_no_form_for_large_rows_none_is_shown(release: str, uri: str) -> None:
    with TiCDC(release, sink_uri=uri) as ticdc, pytest.raises(UserError, match=f"TiCDC {release} .*has no form here"):
        ticdc.fault("large-message")


@pytest.mark.parametrize("uri", [OPEN, CANAL])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_rows_message_has_exactly_as_many_bytes_as_are_asked_for(uri: str, extra: int) -> None:
    """The row that meets the condition is updated in TiDB. One byte more than max-message-bytes is too many."""
    with TiCDC("v8.5.3", sink_uri=f"{uri}&max-message-bytes=1200") as ticdc:
        ticdc.execute(f"{TABLES}; INSERT INTO shop.a VALUES (1, 'x'), (2, 'y')")
        ticdc.messages()
        keys = {"table": "shop.a", "column": "b", "where": "id = 2", "extra": extra}
        if extra:
            with pytest.raises(EncodeError, match="length:1201, maxMessageBytes:1200"):
                ticdc.fault("message-size", **keys)
            return
        ticdc.fault("message-size", **keys)
        message = next(message for message in ticdc.messages() if rows(message))
        stored = ticdc.rows("shop.a")[1]["b"]

    assert len(message.key or b"") + len(message.value or b"") + 36 == 1200
    assert [dict(event.after or {}) for event in rows(message)] == [{"id": "2", "b": stored}]


@pytest.mark.parametrize(
    ("uri", "column", "more", "why"),
    [
        (OPEN, "b", {"where": "id = 7"}, "there is no row to be changed by shop.a.b"),
        (OPEN, "nothing", {}, "Unknown column 'nothing'"),
        (OPEN, "b", {"extra": 5000}, "Data too long for column 'b'"),
        (OPEN, "d", {}, "no text in d of shop.a makes a row's message 1200 bytes long: it has "),
    ],
)
def test_a_size_that_cannot_be_is_refused_in_words(uri: str, column: str, more: dict[str, object], why: str) -> None:
    """Open Protocol writes TEXT in base64, four bytes for three."""
    with TiCDC("v8.5.3", sink_uri=f"{uri}&max-message-bytes=1200") as ticdc:
        ticdc.execute("CREATE TABLE shop.a (id INT PRIMARY KEY, b VARCHAR(2000), d TEXT)")
        ticdc.execute("INSERT INTO shop.a VALUES (1, 'x', 'xxx')")
        with pytest.raises(UserError, match=re.escape(why)):
            ticdc.fault("message-size", table="shop.a", column=column, **more)
