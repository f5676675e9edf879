"""The Python API: a simulated TiDB with a changefeed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.playing import play

from simulator import Message, TiCDC
from simulator.errors import ExpectationError, SqlError, UserError
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark
from simulator.reader.records import read_records

CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
SHOP = "CREATE TABLE shop.item (id BIGINT PRIMARY KEY, stock INT)"
AIRPORTS = Path(__file__).parent.parent.parent / "scenarios" / "data" / "airports-20250224"
STORY = f"""{SHOP};
INSERT INTO shop.item VALUES (1, 5), (2, 6);
BEGIN;
UPDATE shop.item SET stock = stock - 1 WHERE id = 1;
DELETE FROM shop.item WHERE id = 2;
COMMIT;
ALTER TABLE shop.item ADD COLUMN name VARCHAR(20) DEFAULT 'tea';
UPDATE shop.item SET name = 'milk';
CREATE TABLE shop.part (id INT, n INT, PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO shop.part VALUES (1, 1), (2, 2), (3, 3);
TRUNCATE TABLE shop.part;
INSERT INTO shop.part VALUES (4, 4);
"""


def rows_in(events: list[Event]) -> list[tuple[str, Mapping[str, object] | None, Mapping[str, object] | None]]:
    return [(event.op, event.before, event.after) for event in events if isinstance(event, RowEvent)]


def test_what_a_statement_made_is_sent_at_once() -> None:
    """Events end with those of the last statement if no watermark is wanted."""
    with TiCDC() as ticdc:
        ticdc.execute(SHOP)
        ticdc.execute("INSERT INTO shop.item VALUES (1, 5)")
        events = ticdc.events(watermark=False)
        assert [event.query for event in events if isinstance(event, DdlEvent)] == [
            "CREATE TABLE `shop`.`item` (`id` BIGINT PRIMARY KEY,`stock` INT)"
        ] * 3
        assert rows_in(events) == [("INSERT", None, {"id": "1", "stock": "5"})] and isinstance(events[-1], RowEvent)
        assert {type(event) for event in ticdc.events()} == {Watermark}
        assert ticdc.rows("shop.item") == [{"id": 1, "stock": 5}]


def test_messages_are_those_since_the_last_call() -> None:
    """They end with a watermark above all that was sent, in every partition; where nothing happened there are none."""
    with TiCDC(sink_uri=CANAL) as ticdc:
        ticdc.execute(f"{SHOP}; INSERT INTO shop.item VALUES (1, 5)")
        first = ticdc.messages()
        assert ticdc.messages() == []
        ticdc.execute("UPDATE shop.item SET stock = 4")
        second = ticdc.messages()
    for taken in (first, second):
        last = {message.partition: message for message in taken}
        assert {message.commit_ts for message in last.values()} == {max(message.commit_ts for message in taken)}
        assert all(b"TIDB_WATERMARK" in (message.value or b"") for message in last.values())
    assert [message.partition for message in second if b"UPDATE" in (message.value or b"")] == [0]
    assert min(message.offset for message in second) == 1 + max(
        message.offset for message in first if message.partition == 1
    )


def test_time_passes_only_when_it_is_told_to() -> None:
    with TiCDC(sink_uri=CANAL, start_ts="2025-03-01T00:00:00") as ticdc:
        before = ticdc.watermark
        ticdc.wait("2500ms")
        assert len([event for event in ticdc.events() if isinstance(event, Watermark)]) == 2 * 3
        assert ticdc.watermark >> 18 == (before >> 18) + 2500
        assert ticdc.execute("SELECT NOW()").rows == (("2025-03-01 00:00:02",),)


@pytest.mark.slow
def test_a_story_gives_the_messages_that_a_run_of_its_file_gives(tmp_path: Path) -> None:
    """Statement by statement or as a file: byte for byte, where a message is an event."""
    (tmp_path / "story.sql").write_text(f"CREATE DATABASE shop;\n{STORY}")
    assert play("run", tmp_path / "story.sql", "--sink-uri", CANAL, "--fixtures", tmp_path / "out") == 0
    with TiCDC(sink_uri=CANAL) as ticdc:
        ticdc.execute((tmp_path / "story.sql").read_text())
        messages = ticdc.messages()
    assert by_place(messages) == [
        (each.topic, each.partition, each.offset, each.timestamp, each.key, each.value)
        for each in read_records(str(tmp_path / "out"))
    ]


def by_place(messages: list[Message]) -> list[tuple[object, ...]]:
    found = sorted(messages, key=lambda each: (each.topic, each.partition, each.offset))
    return [(each.topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in found]


def test_a_failing_statement_says_tidb_s_error_and_changes_nothing() -> None:
    """What stands before it in the text has been done."""
    with TiCDC() as ticdc:
        ticdc.execute(SHOP)
        ticdc.messages()
        with pytest.raises(SqlError, match=r"ERROR 1062 \(23000\): Duplicate entry '1' for key 'item.PRIMARY'") as one:
            ticdc.execute("INSERT INTO shop.item VALUES (1, 5); INSERT INTO shop.item VALUES (1, 6); SELECT 1")
        assert (one.value.number, one.value.state) == (1062, "23000")
        assert rows_in(ticdc.events()) == [("INSERT", None, {"id": "1", "stock": "5"})]
        with pytest.raises(SqlError) as other:
            ticdc.execute("DROP TABLE shop.nothing")
        assert (other.value.number, other.value.state) == (1051, "42S02")


def test_a_transaction_is_sent_when_it_is_committed() -> None:
    with TiCDC() as ticdc:
        ticdc.execute(f"{SHOP}; BEGIN; INSERT INTO shop.item VALUES (1, 5)")
        assert rows_in(ticdc.events()) == []
        ticdc.execute("UPDATE shop.item SET stock = 6; COMMIT")
        assert rows_in(ticdc.events()) == [("INSERT", None, {"id": "1", "stock": "6"})]


def test_a_database_that_create_table_names_was_there_from_the_start() -> None:
    """Unless the databases are said."""
    with TiCDC(databases=("a",)) as ticdc:
        ticdc.execute("CREATE TABLE a.t (id INT PRIMARY KEY); CREATE TABLE test.t (id INT PRIMARY KEY)")
        with pytest.raises(SqlError, match="Unknown database 'b'"):
            ticdc.execute("CREATE TABLE b.t (id INT PRIMARY KEY)")
    with TiCDC() as ticdc:
        ticdc.execute("USE b; CREATE TABLE t (id INT PRIMARY KEY)")
        assert [event.schema for event in ticdc.events() if isinstance(event, DdlEvent)] == ["b"] * 3
        with pytest.raises(SqlError, match="Can't drop database 'c'"):
            ticdc.execute("DROP DATABASE c")


def test_rows_are_python_values() -> None:
    """Numbers where messages have numbers, bytes for binary strings, else TiDB's text; by key. They have virtual
    columns, which messages have not."""
    with TiCDC() as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, f DOUBLE, d DECIMAL(8,2), s VARCHAR(9), b VARBINARY(9), at DATETIME, "
            "e ENUM('x','y'), bits BIT(8), j JSON, n INT)"
        )
        ticdc.execute(
            "INSERT INTO t VALUES (10, 0.5, 1.5, 'ä', x'00ff', '2025-01-02 03:04:05', 'y', b'101', '{\"a\": 1}', NULL)"
        )
        ticdc.execute("INSERT INTO t (id) VALUES (9)")
        assert [row["id"] for row in ticdc.rows("t")] == [9, 10]
        values = (10, 0.5, "1.50", "ä", b"\x00\xff", "2025-01-02 03:04:05", "y", 5, '{"a": 1}', None)
        assert ticdc.rows("test.t")[1] == dict(zip("id f d s b at e bits j n".split(), values, strict=True))
        with pytest.raises(SqlError, match="Table 'test.nothing' doesn't exist"):
            ticdc.rows("nothing")
        ticdc.events()
        ticdc.execute("CREATE TABLE v (id INT PRIMARY KEY, double_id INT AS (id * 2), s INT AS (id + 1) STORED)")
        ticdc.execute("INSERT INTO v (id) VALUES (7)")
        assert rows_in(ticdc.events()) == [("INSERT", None, {"id": "7", "s": "8"})]
        assert ticdc.rows("v") == [{"id": 7, "double_id": 14, "s": 8}]


def test_a_select_answers_with_rows() -> None:
    with TiCDC() as ticdc:
        ticdc.execute(f"{SHOP}; INSERT INTO shop.item VALUES (1, 5), (2, NULL)")
        found = ticdc.execute("SELECT id, stock AS left_over FROM shop.item ORDER BY id")
        assert (found.columns, found.rows) == (("id", "left_over"), (("1", "5"), ("2", None)))
        assert ticdc.execute("UPDATE shop.item SET stock = 1").affected == 2
        ticdc.execute("CREATE TABLE t (b VARBINARY(9)); INSERT INTO t VALUES (x'00ff')")
        bytes_of = ticdc.execute("SELECT b, x'80', CAST('ä' AS BINARY) FROM t").rows
        assert bytes_of == ((b"\x00\xff", b"\x80", b"\xc3\xa4"),)


def test_a_number_beyond_all_members_is_refused() -> None:
    with TiCDC() as ticdc:
        ticdc.execute("CREATE TABLE t (e ENUM('a', 'b'), s SET('x', 'y'))")
        for column, number in (("e", 2**63), ("s", 2**63), ("e", 2**64 - 1), ("s", 2**64 - 1)):
            with pytest.raises(SqlError, match=f"1265 .*: Data truncated for column '{column}' at row 1"):
                ticdc.execute(f"INSERT INTO t ({column}) VALUES ({number})")


@pytest.mark.slow
def test_scenarios_are_played_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "start.toml").write_text(f'[[step]]\nsnapshot = "{AIRPORTS}"\n[[step]]\nsql = "CREATE DATABASE more"\n')
    (tmp_path / "more.sql").write_text("CREATE TABLE more.t (id INT PRIMARY KEY)")
    with TiCDC() as ticdc:
        ticdc.play(tmp_path / "start.toml")
        ticdc.play(str(tmp_path / "more.sql"))
        ticdc.execute("INSERT INTO more.t VALUES (1)")
        assert ticdc.rows("more.t") == [{"id": 1}]
        (name,) = {event.table for event in ticdc.events() if isinstance(event, RowEvent)}
        assert name == "t"
        assert len(ticdc.rows("airports.airport")) > 1000
        ticdc.play("bank")  # of the library
        assert any(event.schema == "bank" for event in ticdc.events() if isinstance(event, RowEvent))


def test_what_a_played_scenario_expects_is_held_against_its_messages(tmp_path: Path) -> None:
    """And against them alone: what was sent before does not count."""
    story = tmp_path / "story.toml"
    with TiCDC() as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT)")
        for number, stock in ((1, 5), (2, 6)):
            story.write_text(
                f'[[step]]\nsql = "INSERT INTO shop.item VALUES ({number}, {stock})"\n'
                f'[[step]]\nexpect = ["INSERT shop.item id={number} stock=5"]\n'
            )
            if stock == 5:
                ticdc.play(story)
        with pytest.raises(ExpectationError, match=r"story.toml: line 4: step 2: events: not as expected"):
            ticdc.play(story)
        assert len(rows_in(ticdc.events())) == 2


def test_the_configuration_is_a_text_a_file_or_a_mapping(tmp_path: Path) -> None:
    text = '[filter]\nrules = ["shop.*", "!shop.secret"]\n'
    (tmp_path / "changefeed.toml").write_text(text)
    for config in (text, tmp_path / "changefeed.toml", {"filter": {"rules": ["shop.*", "!shop.secret"]}}):
        with TiCDC(config=config) as ticdc:
            ticdc.execute("CREATE TABLE shop.secret (id INT PRIMARY KEY); INSERT INTO shop.secret VALUES (1)")
            assert rows_in(ticdc.events()) == []


def test_releases_and_architectures_are_named() -> None:
    with TiCDC("new:v8.5.4") as new, TiCDC("v6.5.6") as old:
        assert (new.describe(), old.describe()) == (
            "TiCDC new, v8.5.4, open-protocol, topic ticdc",
            "TiCDC classic, v6.5.6, open-protocol, topic ticdc",
        )
    with pytest.raises(UserError, match="unknown TiCDC release 'v8.5.99'"):
        TiCDC("v8.5.99")


def test_the_truth_counts_what_was_sent(tmp_path: Path) -> None:
    """So that a row which came and went is missed in the stream."""
    with TiCDC(fixtures=tmp_path / "stream", fixtures_format="jsonl") as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1)")
        ticdc.execute("DELETE FROM test.t")
        ticdc.truth(tmp_path / "truth")
    about = json.loads((tmp_path / "truth" / "truth.json").read_text())
    assert [about[kind]["test.t"]["rows"] for kind in ("changes", "deletes")] == [1, 1]


def test_what_a_consumer_wrote_down_is_held_against_the_truth(tmp_path: Path) -> None:
    with TiCDC() as ticdc:
        ticdc.execute(f"{SHOP}; INSERT INTO shop.item VALUES (1, 5), (2, 6)")
        table = tmp_path / "shop.item.csv"
        table.write_text("id,stock\n2,6\n1,5\n")
        ticdc.verify(tmp_path)
        table.write_text("id,stock\n1,4\n3,1\n")
        with pytest.raises(ExpectationError) as error:
            ticdc.verify(tmp_path)
    told = [line for line in error.value.args if line.startswith("  shop.item")]
    assert told == [
        "  shop.item, row 2: is missing",
        "  shop.item, row 3: is there and should not be",
        "  shop.item, row 1: stock is '4', '5' expected",
    ]


@pytest.mark.slow
def test_fixtures_appear_when_it_is_closed(tmp_path: Path) -> None:
    """And not at all where the block ends with an error."""
    with TiCDC(fixtures=tmp_path / "out") as ticdc:
        ticdc.execute(STORY)
        messages = ticdc.messages()
        assert not (tmp_path / "out").exists()
    assert len(list(read_records(str(tmp_path / "out")))) == len(messages)
    with pytest.raises(SqlError), TiCDC(fixtures=tmp_path / "other") as ticdc:
        ticdc.execute("SELECT * FROM nowhere.at_all")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(UserError, match="this TiCDC is closed"):
        ticdc.execute("SELECT 1")


@pytest.mark.kafka
def test_kafka_has_everything_as_soon_as_it_is_executed(kafka: str) -> None:
    with TiCDC(sink_uri=f"kafka://{kafka}/api?protocol=open-protocol&partition-num=2", send=True) as ticdc:
        ticdc.execute(STORY)
        sent = [(each.partition, each.offset, each.value) for each in read_records(f"kafka://{kafka}/api")]
        messages = ticdc.messages(watermark=False)
    assert sent == sorted(((each.partition, each.offset, each.value) for each in messages), key=lambda each: each[:2])
    assert len(sent) > 10
