"""A restart among the rows of a transaction, and Ctrl-C in a run with faults: the stream keeps the contract, leads to the
rows of the truth, and ends complete at its last watermark, whatever the faults hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.contract_checks import check_records
from support.cut_short import StopAfter
from support.playing import error_of, play, said

from simulator.api.results import records
from simulator.engines import in_process
from simulator.engines.tasks.progress import EarlyEnd, Reporter
from simulator.reader.contract.stream_spec import stream_spec_of
from simulator.reader.decode import RowEvent, Watermark, decode
from simulator.reader.records import read_records
from simulator.releases import V8_5
from simulator.run import outputs
from simulator.run import scenario as scenarios
from simulator.run.execute import PlannedRun
from simulator.run.plan import plan
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load

CANAL, OPEN = "canal-json&enable-tidb-extension=true", "open-protocol"
PROTOCOLS = (CANAL, "canal-json", OPEN, "simple", "debezium")
SCENARIO = """\
sink-uri = "kafka://127.0.0.1:9/shop?protocol={protocol}&partition-num=2"
config = "feed.toml"

[[step]]
sql = '''
CREATE TABLE item (id INT PRIMARY KEY, v INT, code VARCHAR(9) NOT NULL UNIQUE);
INSERT INTO item VALUES (1, 1, 'a'), (2, 1, 'b');
'''

[[step]]
wait = "2s"

[[step]]
sql = '''
INSERT INTO item VALUES (3, 1, 'c');
BEGIN; INSERT INTO item VALUES (4, 1, 'd'), (5, 1, 'e'); UPDATE item SET v = 2, code = CONCAT(code, '!') WHERE id < 4;
DELETE FROM item WHERE id = 1; COMMIT;
'''
fault = {fault}

[[step]]
sql = "UPDATE item SET v = 9"
"""


def scenario(directory: Path, fault: str, protocol: str = CANAL) -> Path:
    (directory / "feed.toml").write_text('[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n')
    file = directory / "restart.toml"
    file.write_text(SCENARIO.replace("{protocol}", protocol).replace("{fault}", fault))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "after"), [*((CANAL, after) for after in (1, 3, 6)), *((protocol, 3) for protocol in PROTOCOLS[1:])]
)
def test_everything_above_the_checkpoint_comes_again(protocol: str, after: int, tmp_path: Path) -> None:
    file = scenario(tmp_path, f'{{ kind = "restart", after-rows = {after} }}', protocol)
    stream, truth = tmp_path / "out", tmp_path / "truth"
    assert play("run", file, "--fixtures", stream, "--truth", truth) == 0
    assert play("verify", stream, "--truth", truth, "--master", "none") in (
        (0,) if protocol in (CANAL, OPEN) else (0, 4)
    )


@pytest.mark.parametrize(
    ("after", "sent"), [(1, ["3"]), (2, ["3", "1"]), (3, ["3", "1", "2"]), (6, ["3", "1", "2", "3", "4", "5"])]
)
def test_so_many_rows_are_sent_before_it(after: int, sent: list[str], tmp_path: Path) -> None:
    """The first is of the transaction before; then the rows of the last one come, here in order of their keys."""
    file = scenario(tmp_path, f'{{ kind = "restart", after-rows = {after} }}', "canal-json")
    (tmp_path / "feed.toml").write_text("")
    file.write_text(file.read_text().replace(", code = CONCAT(code, '!')", ""))
    assert play("run", file, "--fixtures", tmp_path / "out") == 0
    events = [event for one in read_records(str(tmp_path / "out")) for event in decode(one.key, one.value)]
    rows = [event for event in events if isinstance(event, RowEvent)][2:]
    keys = [str((row.after or row.before or {})["id"]) for row in rows]
    assert sorted(keys[:after]) == sorted(sent) and keys[after] == "3"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            '{ kind = "restart", after-rows = 7 }',
            "step 3: fault restart: after-rows: the step changes 6 rows, got 7; accepted: 1 to 6",
        ),
        ('{ kind = "restart", after-rows = 0 }', "after-rows: expected a whole number from 1 to 1,000,000, got 0"),
        ('{ kind = "restart", after-rows = "x" }', "after-rows: expected a whole number from 1 to 1,000,000, got 'x'"),
        ('{ kind = "restart" }', "after-rows is missing"),
        ("{ after-rows = 1 }", "kind is missing"),
        ('{ kind = "lose-row", after-rows = 1 }', "kind: expected 'restart'"),
        ('{ kind = "restart", after-rows = 1, after-row = 2 }', "after-row: unknown key. Did you mean 'after-rows'?"),
        ('"restart"', "a fault after the SQL has a [[step]] of its own"),
    ],
)
def test_mistakes_are_a_line_before_anything_is_sent(fault: str, words: str, tmp_path: Path) -> None:
    found = said("run", scenario(tmp_path, fault), "--fixtures", tmp_path / "out")
    assert found.code == 2
    (line,) = found.err
    assert words in line
    assert not (tmp_path / "out").exists()


def test_a_fault_of_its_own_is_no_table(tmp_path: Path) -> None:
    file = tmp_path / "alone.toml"
    table, fault = "sql = 'CREATE TABLE t (id INT PRIMARY KEY)'", "fault = {kind = 'restart', after-rows = 1}"
    file.write_text(f"[[step]]\n{table}\n[[step]]\n{fault}\n")
    assert "step 2: fault: " in error_of("run", file, "--console")


EARLY_URI = "kafka://127.0.0.1:9/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
EARLY_STEPS = (
    "sql = 'CREATE TABLE item (id INT PRIMARY KEY, v INT); INSERT INTO item VALUES (1, 1), (2, 1)'",
    "wait = '2s'",
    "{fault}",
    "sql = 'UPDATE item SET v = 2 WHERE id = 1'",
    "wait = '1500ms'",
    "sql = 'UPDATE item SET v = 3; INSERT INTO item VALUES (3, 1)'",
    "wait = '2s'",
    "fault = 'restart'",
    "sql = 'DELETE FROM item WHERE id = 2'",
    "wait = '2s'",
)
FAULTS = [
    "fault = 'checkpoint-lag'\nfor = '9s'",
    "fault = 'late-partition'\npartition = 1\nby = '3s'",
    "fault = 'restart'\nback = '1s'",
    "fault = 'row-below-watermark'",
    "wait = '1ms'",
]


def sent(path: Path, looks: int) -> tuple[list[Message], int]:
    """Return the messages up to the stop, and the commit-ts up to which they are complete."""
    changefeed = load(EARLY_URI, "", V8_5)
    planned = plan(scenarios.load(path).run_spec(), changefeed, V8_5)
    messages: list[Message] = []
    output = outputs.MemoryOutput(changefeed, messages)
    work = PlannedRun(planned, output.for_plan(planned), V8_5, speed=1e6).work()
    early_end = EarlyEnd(StopAfter(looks))
    replace(in_process.ordered_task(work, True), early_end=early_end).into(output.sink, Reporter(None))
    output.close()
    return messages, early_end.last


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_that_ends_early_is_whole_up_to_its_last_watermark(fault: str, tmp_path: Path) -> None:
    path, ends = tmp_path / "early.toml", set()
    path.write_text("".join(f"[[step]]\n{step.format(fault=fault)}\n" for step in EARLY_STEPS))
    whole = [event for each in sent(path, 1 << 30)[0] for event in decode(each.key, each.value)]
    changes = {(event.commit_ts or 0, str(event.after)) for event in whole if isinstance(event, RowEvent)}
    spec = replace(stream_spec_of(load(EARLY_URI, "", V8_5), (), {"shop": 2}, V8_5), restarts=True, complete=False)
    for looks in range(2, 16):
        messages, last = sent(path, looks)
        events = [(each.partition, event) for each in messages for event in decode(each.key, each.value)]
        watermarks = [(place, event.ts) for place, event in events if isinstance(event, Watermark)]
        assert {place for place, ts in watermarks if ts == last} == {0, 1}
        assert max(ts for _, ts in watermarks) == last
        assert {(event.commit_ts or 0, str(event.after)) for _, event in events if isinstance(event, RowEvent)} == {
            change for change in changes if change[0] <= last
        }
        found, _ = check_records(records(messages), spec)
        assert {check for check, _ in found.counts} <= (
            {"row-below-watermark", "row-out-of-order"} if "below" in fault else set()
        )
        ends.add(last)
    assert len(ends) > 4
