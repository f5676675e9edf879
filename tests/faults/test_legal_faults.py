"""Faults that TiCDC has: what comes again, late or out of order; whatever they are, the stream keeps the contract and
leads to the same rows."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.playing import error_of, play

from simulator import TiCDC, tso
from simulator.errors import UserError
from simulator.faults import FAULTS
from simulator.reader.decode import RowEvent, Watermark, decode
from simulator.reader.records import read_records
from simulator.run import scenario as scenarios
from simulator.run.steps.fault import fault_step
from simulator.sinks.memory import Message

OPEN = "kafka://127.0.0.1:9/shop?protocol=open-protocol&partition-num=2"
CANAL = "kafka://127.0.0.1:9/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
BY_KEY_TOML = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
BY_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}}
CONFIGS = (
    "",
    BY_KEY_TOML,
    '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "columns", columns = ["id"]}]\n',
    '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}", partition = "index-value"}]\n',
)
CLASSIC, NEW = "v8.5.3", "new:v8.5.4"

TABLE = "CREATE TABLE test.item (id INT PRIMARY KEY, v INT)"
ITEM = 1
"""The partition of its rows."""

OTHER = "CREATE TABLE test.other (id INT PRIMARY KEY, v INT)"


def shown(messages: Sequence[Message], partition: int | None = None) -> list[str]:
    """Return the events of messages in short form: `D`, `W` and its millisecond, or table and key of a row."""
    found = []
    for message in (message for message in messages if partition in (None, message.partition)):
        for event in decode(message.key, message.value):
            if isinstance(event, RowEvent):
                key = (event.after or event.before or {})["id"]
                found.append(f"{event.op[0]}{event.table[0]}{key!s}".lower())
            else:
                found.append(f"W{tso.physical(event.ts) % 100_000}" if isinstance(event, Watermark) else "D")
    return found


def opened(release: str = CLASSIC, uri: str = OPEN, **keys: Any) -> TiCDC:
    """With a table, and nothing that was not taken."""
    ticdc = TiCDC(release, sink_uri=uri, resolved_interval="1m", **keys)
    ticdc.execute(TABLE)
    ticdc.messages(watermark=False)
    return ticdc


# -- what comes again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", [OPEN, CANAL])
def test_rows_above_the_last_watermark_come_again_behind_it_after_a_restart(uri: str) -> None:
    ticdc = opened(uri=uri)
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    ticdc.messages()
    ticdc.execute("INSERT INTO test.item VALUES (2, 1); UPDATE test.item SET v = 2 WHERE id = 2")
    before = ticdc.messages(watermark=False)
    ticdc.fault("restart")
    again = ticdc.messages(watermark=False)
    assert shown(before, ITEM) == ["ii2", "ui2"]
    assert shown(again, ITEM) == ["W3", "ii2", "ui2"] and shown(again, 0) == ["W3"]
    assert {message.commit_ts for message in again[2:]} <= {message.commit_ts for message in before}


def test_a_statement_at_the_checkpoint_comes_again_in_the_classic_architecture_alone() -> None:
    """The new architecture reads statements from behind the checkpoint on."""
    for release, wanted in ((CLASSIC, ["W1", "D", "ii1"]), (NEW, ["W1", "ii1"])):
        ticdc = opened(release)
        ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
        ticdc.messages(watermark=False)
        ticdc.fault("restart")
        assert shown(ticdc.messages(watermark=False), ITEM) == wanted


def test_what_has_a_watermark_above_it_never_comes_again() -> None:
    ticdc = opened()
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    ticdc.messages()
    for _ in range(2):
        ticdc.fault("restart")
        assert shown(ticdc.messages(watermark=False), 0) == ["W3"]


def test_rows_come_again_from_as_long_ago_as_the_checkpoint_stood_still() -> None:
    ticdc = opened()
    ticdc.fault("checkpoint-lag", for_="10s")
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    ticdc.wait("5s")
    ticdc.execute("INSERT INTO test.item VALUES (2, 1)")
    assert shown(ticdc.messages(), ITEM) == ["ii1", "ii2"]  # a watermark is asked for, and not sent
    ticdc.fault("restart")
    assert shown(ticdc.messages(), ITEM) == ["W1", "D", "ii1", "ii2"]
    assert tso.physical(ticdc.watermark) % 100_000 == 1
    ticdc.wait("10s")
    assert shown(ticdc.messages(), 0)[-1].startswith("W")


def test_a_canal_json_without_watermarks_has_a_checkpoint_all_the_same() -> None:
    """What is sent again lies above the missing watermark."""
    ticdc = opened(uri="kafka://127.0.0.1:9/shop?protocol=canal-json&partition-num=1")
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    ticdc.wait("2m")
    ticdc.execute("INSERT INTO test.item VALUES (2, 1)")
    ticdc.messages()
    ticdc.execute("INSERT INTO test.item VALUES (3, 1)")
    ticdc.fault("restart")
    assert shown(ticdc.messages()) == ["ii3", "ii3"]


# -- broadcasts -----------------------------------------------------------------------------------------------------


def test_a_broadcast_that_broke_off_comes_whole_again() -> None:
    for release in (CLASSIC, NEW):
        ticdc = opened(release)
        ticdc.fault("partial-broadcast", of="ddl", partitions=1)
        ticdc.execute("ALTER TABLE test.item ADD COLUMN w INT")
        messages = ticdc.messages(watermark=False)
        assert (shown(messages, 0), shown(messages, 1)) == (["D", "W3", "D", "W3"], ["W3", "D", "W3"])
    ticdc = opened(uri=CANAL)
    ticdc.fault("partial-broadcast", of="watermark", partitions=1)
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    messages = ticdc.messages()
    assert [shown(messages, partition).count("W4") for partition in (0, 1)] == [2, 1]


def test_a_watermark_comes_as_often_as_is_asked() -> None:
    ticdc = opened()
    ticdc.messages()
    ticdc.fault("repeat-watermark", times=2)
    assert shown(ticdc.messages(watermark=False)) == ["W2", "W2"] * 2


# -- order ----------------------------------------------------------------------------------------------------------


def test_a_late_partition_has_everything_later_and_in_its_order() -> None:
    ticdc = opened()
    ticdc.fault("late-partition", partition=ITEM, by="90s")
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    assert shown(ticdc.messages(), ITEM) == []
    ticdc.wait("4m")
    assert shown(ticdc.messages(watermark=False), ITEM)[:2] == ["ii1", "W4"]


def test_a_statement_waits_for_a_late_partition() -> None:
    ticdc = opened(uri=CANAL)
    ticdc.fault("late-partition", partition=ITEM, by="1h")
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    assert ticdc.messages(watermark=False) == []
    ticdc.execute("ALTER TABLE test.item ADD COLUMN w INT")
    assert shown(ticdc.messages(watermark=False))[:2] == ["ii1", "D"]


def test_what_a_late_partition_has_not_got_is_there_when_the_changefeed_ends(tmp_path: Path) -> None:
    with TiCDC(CLASSIC, sink_uri=OPEN, fixtures=tmp_path / "out") as ticdc:
        ticdc.execute(TABLE)
        ticdc.fault("late-partition", partition=ITEM, by="1h")
        ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
        assert shown(ticdc.messages(), ITEM) == ["D", "W1"]
    last = [
        [*decode(each.key, each.value)][-1] for each in read_records(str(tmp_path / "out")) if each.partition == ITEM
    ]
    assert isinstance(last[-2], RowEvent) and isinstance(last[-1], Watermark)


def test_rows_of_other_tables_come_out_of_the_order_of_time() -> None:
    """Rows of one table keep their order. The first group of a flush comes last."""
    for release in ("v7.5.3", CLASSIC, NEW):
        ticdc = TiCDC(release, sink_uri=OPEN.replace("num=2", "num=1"))
        ticdc.execute(f"{TABLE}; {OTHER}")
        ticdc.fault("table-order")
        ticdc.messages()
        ticdc.execute(
            "BEGIN; INSERT INTO test.other VALUES (1, 1); INSERT INTO test.item VALUES (1, 1), (2, 1); COMMIT"
        )
        assert shown(ticdc.messages(watermark=False)) == ["io1", "ii1", "ii2"]


def test_a_table_that_moves_comes_again_among_the_rows_of_others() -> None:
    ticdc = TiCDC(CLASSIC, sink_uri=OPEN.replace("num=2", "num=1"))
    ticdc.execute(f"{TABLE}; {OTHER}; INSERT INTO test.item VALUES (1, 1), (2, 1)")
    ticdc.messages(watermark=False)
    ticdc.fault("move-table", table="test.item")
    ticdc.execute("BEGIN; INSERT INTO test.other VALUES (2, 1), (3, 1); INSERT INTO test.item VALUES (3, 1); COMMIT")
    rows = [row for row in shown(ticdc.messages()) if row[0] == "i"]
    assert [row for row in rows if row[1] == "i"] == ["ii1", "ii2", "ii3"]
    assert [row for row in rows if row[1] == "o"] == ["io2", "io3"]


def test_a_table_that_moves_stays_in_its_topic_while_another_one_grows() -> None:
    """The default topic's partitions are numbered before those of others."""
    ticdc = TiCDC(CLASSIC, sink_uri=OPEN, config=BY_TABLE)
    ticdc.execute(f"{TABLE}; INSERT INTO test.item VALUES (1, 1)")
    before = ticdc.messages(watermark=False)[-1]
    ticdc.fault("move-table", table="test.item")
    ticdc.fault("add-partitions", partitions=5)
    again = next(each for each in ticdc.messages() if shown([each]) == ["ii1"])
    assert (again.topic, again.partition, again.value) == (before.topic, before.partition, before.value)


def test_a_fault_that_met_nothing_is_warned_of_when_the_changefeed_is_closed() -> None:
    ticdc = opened()
    ticdc.fault("partial-broadcast", of="ddl", partitions=1)
    ticdc.fault("late-partition", partition=0, by="1s", for_="1ms")
    ticdc.fault("lose-row")
    with pytest.warns(UserWarning, match="nothing came that it waits for") as caught:
        ticdc.close()
    assert [str(each.message).split(":")[0] for each in caught] == [
        "fault late-partition",
        "fault partial-broadcast",
        "fault lose-row",
    ]


# -- what cannot be -------------------------------------------------------------------------------------------------


def test_a_key_that_cannot_be_read_is_not_missing_as_well() -> None:
    with pytest.raises(UserError) as caught:
        fault_step("late-partition", {"partition": -1})

    assert [line.split(": ")[1:3] for line in caught.value.args] == [
        ["partition", "expected a whole number from 0 to 9,999, got -1"],
        ["by is missing", "How much later in simulated time."],
    ]


@pytest.mark.parametrize(("name", "keys", "release", "uri", "words"), [
    ("restrat", {}, CLASSIC, OPEN, "there is no fault 'restrat'. Did you mean 'restart'? Known: restart, "),
    ("restart", {"by": "1s"}, CLASSIC, OPEN, "fault restart: by is no key of this fault: it has back."),
    ("restart", {"back": "soon"}, CLASSIC, OPEN, "fault restart: back: bad duration 'soon'"),
    ("restart", {"back": "1h"}, CLASSIC, OPEN, "let the fault checkpoint-lag begin earlier, or leave out back"),
    ("checkpoint-lag", {}, CLASSIC, OPEN, "fault checkpoint-lag: for is missing: How long it lasts"),
    ("late-partition", {"partition": 2, "by": "1s"}, CLASSIC, OPEN, "partition = 2: the topic has 2, so that 0 to 1"),
    ("late-partition", {"partition": -1, "by": "1s"}, CLASSIC, OPEN, "expected a whole number from 0 to 9,999, got -1"),
    ("move-table", {"table": "test.itm"}, CLASSIC, OPEN, "no such table is replicated here. Did you mean 'test.item'?"),
    ("move-table", {"table": "item"}, CLASSIC, OPEN, "expected a table with its database, such as shop.item"),
    ("table-order", {}, "v6.5.6", OPEN, "TiCDC v6.5.6 with Open Protocol sends the rows of a partition in"),
    ("partial-broadcast", {"of": "ddl", "partitions": 1}, CLASSIC, CANAL, "sends a statement to partition 0 alone"),
    ("partial-broadcast", {"of": "ddl", "partitions": 2}, CLASSIC, OPEN, "a statement goes to 2 in all, so that 1 is"),
    ("partial-broadcast", {"of": "watermark", "partitions": 4}, CLASSIC, OPEN.replace("num=2", "num=3"),
     "partitions = 4: a watermark goes to 3 in all, so that 1 to 2 are accepted"),
    ("partial-broadcast", {"of": "watermark", "partitions": 1}, CLASSIC, OPEN.replace("num=2", "num=1"),
     "partitions = 1: a watermark goes to 1 in all: nothing breaks off"),
    ("late-partition", {"partition": 0, "by": "1s", "topic": "shp"}, CLASSIC, OPEN,
     "there is no such topic. Did you mean 'shop'? Known: shop"),
    ("partial-broadcast", {"of": "row", "partitions": 1}, CLASSIC, CANAL, "expected one of ddl, watermark, got 'row'"),
    ("repeat-watermark", {}, CLASSIC, CANAL.replace("=true", "=false"), "sends no watermarks here"),
])  # fmt: skip
def test_an_impossible_fault_does_nothing(name: str, keys: dict[str, Any], release: str, uri: str, words: str) -> None:
    ticdc = opened(release, uri)
    ticdc.wait("2m")
    ticdc.messages()
    with pytest.raises(UserError) as caught:
        ticdc.fault(name, **keys)
    assert words in str(caught.value)
    ticdc.execute("INSERT INTO test.item VALUES (1, 1)")
    assert shown(ticdc.messages(watermark=False)) == ["ii1"]


def test_a_played_scenario_with_an_impossible_fault_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(f"""
[[step]]
sql = "{TABLE}; INSERT INTO test.item VALUES (1, 1)"
[[step]]
fault = "late-partition"
partition = 9
by = "1s"
""")
    with TiCDC(sink_uri=OPEN) as ticdc:
        with pytest.raises(UserError, match="partition = 9: the topic has 2"):
            ticdc.play(path)
        assert ticdc.messages() == []
        ticdc.execute(f"{TABLE}; INSERT INTO test.item VALUES (2, 1)")
        assert shown(ticdc.messages(watermark=False), ITEM) == ["D", "W1", "ii2"]


def test_a_scenario_says_where_a_wrong_fault_stands(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    steps = (f'sql = "{TABLE}"', 'fault = "restart"\nby = "1s"', 'fault = "late-partition"')
    path.write_text("".join(f"[[step]]\n{step}\n" for step in steps))
    assert error_of("run", path, "--console").splitlines()[-3:] == [
        f"ticdc-sim: scenario {path}: line 4: step 2: fault: restart: by is no key of this fault: it has back.",
        f"ticdc-sim: scenario {path}: line 7: step 3: fault: late-partition: partition is missing: Which one, from 0.",
        f"ticdc-sim: scenario {path}: line 7: step 3: fault: late-partition: by is missing: How much later in simulated"
        " time.",
    ]


def test_faults_are_played_in_this_process_alone(tmp_path: Path) -> None:
    path = tmp_path / "restart.toml"
    path.write_text(f'[[step]]\nsql = "{TABLE}"\n[[step]]\nfault = "restart"\n')
    assert "--master local[1]: the run has faults (restart), and these are played in this process" in (
        error_of("run", path, "--console", "--master", "local[1]")
    )


def test_a_key_means_the_same_in_every_fault() -> None:
    known: dict[str, tuple[object, str]] = {}
    for kind in FAULTS.values():
        for name, key in kind.keys.items():
            assert known.setdefault(name, (key.read, key.field)) == (key.read, key.field)


def test_the_page_on_faults_has_all_of_them_with_their_keys() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "faults.md").read_text("utf-8")
    legal, illegal = page.split("\n## What a consumer should notice\n")
    for name, kind in FAULTS.items():
        (row,) = (line for line in (legal if kind.legal else illegal).splitlines() if line.startswith(f"| `{name}` |"))
        assert [f"`{key}`" for key in kind.keys if f"`{key}`" not in row.split("|")[2]] == []


# -- whatever they are ----------------------------------------------------------------------------------------------

NUMBER = st.integers(0, 5)
STATEMENT = st.one_of(
    st.builds("REPLACE INTO {} VALUES ({}, {})".format, st.sampled_from(("item", "other")), NUMBER, NUMBER),
    st.builds("UPDATE {} SET v = v + {} WHERE id > {}".format, st.sampled_from(("item", "other")), NUMBER, NUMBER),
    st.builds("UPDATE {} SET id = id + 10 WHERE id = {}".format, st.sampled_from(("item", "other")), NUMBER),
    st.builds("DELETE FROM {} WHERE id = {}".format, st.sampled_from(("item", "other")), NUMBER),
    st.sampled_from(
        ["TRUNCATE TABLE other", "ALTER TABLE item MODIFY COLUMN v BIGINT", "ALTER TABLE item MODIFY COLUMN v INT"]
    ),
)
FAULT = st.sampled_from([
    'fault = "restart"', 'fault = "restart"\nback = "3s"',
    'fault = "partial-broadcast"\nof = "watermark"\npartitions = 1',
    'fault = "repeat-watermark"', 'fault = "checkpoint-lag"\nfor = "2s"', 'fault = "table-order"\nfor = "4s"',
    'fault = "late-partition"\npartition = 1\nby = "1500ms"\nfor = "5s"',
    'fault = "late-partition"\npartition = 0\nby = "3s"',
    'fault = "move-table"\ntable = "test.item"', 'fault = "move-table"\ntable = "test.other"',
])  # fmt: skip
STEP = st.one_of(st.builds('sql = "{}"'.format, STATEMENT), FAULT, st.sampled_from(['wait = "1500ms"', 'wait = "4s"']))


ROWS_OF_TWO_STEPS = ['sql = "REPLACE INTO item VALUES (1, 1)"', 'sql = "REPLACE INTO item VALUES (2, 1)"']


@pytest.mark.slow
@example(['fault = "table-order"', *ROWS_OF_TWO_STEPS, 'sql = "TRUNCATE TABLE other"'], CANAL, "v7.5.3", BY_KEY_TOML)
@example(
    [ROWS_OF_TWO_STEPS[0], 'fault = "move-table"\ntable = "test.item"', 'sql = "REPLACE INTO other VALUES (1, 1)"',
     'sql = "REPLACE INTO other VALUES (2, 1)"', ROWS_OF_TWO_STEPS[1]], CANAL.replace("num=2", "num=1"), CLASSIC, "",
)  # fmt: skip
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(STEP, min_size=3, max_size=14),
    st.sampled_from([OPEN, CANAL]),
    st.sampled_from(["v7.5.3", "v8.5.3", NEW]),
    st.sampled_from(CONFIGS),
)
def test_whatever_goes_wrong_the_stream_keeps_the_contract_and_leads_to_the_same_rows(
    steps: list[str], uri: str, release: str, dispatchers: str
) -> None:
    """An open changefeed that plays the scenario sends the messages of the run. One that plays a step at a time does,
    too, unless messages are batches or a fault changes the order of rows of several steps: each step ends a flush.
    """
    kind, _, tag = release.rpartition(":")
    with tempfile.TemporaryDirectory() as place:
        path, config = Path(place, "wrong.toml"), Path(place, "changefeed.toml")
        config.write_text(dispatchers)
        text = "".join(f"[[step]]\n{step}\n" for step in (f'sql = "{TABLE}; {OTHER}"', *steps))
        path.write_text(text)
        options = ["--release", tag, "--architecture", kind or "classic", "--sink-uri", uri, "--config", config]
        assert play("run", path, *options, "--fixtures", Path(place, "out"), "--truth", Path(place, "truth")) == 0
        assert play("verify", Path(place, "out"), "--truth", Path(place, "truth")) == 0
        scenario = scenarios.load(path)
        parts = [("together", [scenario.steps])]
        if uri == CANAL and not any(word in step for step in steps for word in ("table-order", "move-table", "back")):
            parts.append(("one-by-one", [(step,) for step in scenario.steps]))
        for name, scenario_parts in parts:
            with TiCDC(release, sink_uri=uri, config=config, fixtures=Path(place, name)) as ticdc:
                for part in scenario_parts:
                    ticdc.play(replace(scenario, steps=part))
            assert [*read_records(f"{place}/{name}")] == [*read_records(f"{place}/out")]


@pytest.mark.kafka
def test_a_topic_of_kafka_has_the_same_faults(tmp_path: Path, kafka: str) -> None:
    steps = (
        f'sql = "{TABLE}; {OTHER}; INSERT INTO item VALUES (1, 1), (2, 1)"',
        'wait = "2s"',
        'fault = "partial-broadcast"\nof = "ddl"\npartitions = 1',
        'fault = "late-partition"\npartition = 1\nby = "1s"',
        'sql = "UPDATE item SET v = 2; ALTER TABLE item ADD COLUMN w INT; DELETE FROM item WHERE id = 1"',
        'fault = "restart"',
        'sql = "INSERT INTO other VALUES (1, 1); INSERT INTO item VALUES (1, 5, 5)"',
    )
    path, topic = tmp_path / "faults.toml", f"faults-{uuid.uuid4().hex[:8]}"
    path.write_text("".join(f"[[step]]\n{step}\n" for step in steps))
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"
    assert play("run", path, "--sink-uri", uri, "--truth", tmp_path / "truth") == 0
    assert play("verify", f"kafka://{kafka}/{topic}", "--truth", tmp_path / "truth") == 0
    assert play("run", path, "--sink-uri", uri, "--fixtures", tmp_path / "out") == 0
    sent, recorded = (
        sorted((each.partition, each.offset, each.key or b"", each.value or b"") for each in read_records(source))
        for source in (f"kafka://{kafka}/{topic}", str(tmp_path / "out"))
    )
    assert sent == recorded
