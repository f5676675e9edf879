"""Ctrl-C in a run with faults: the stream ends complete at its last watermark, whatever the faults hold."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from support.contract_checks import check_records

from simulator.api.session import records
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import RowEvent, Watermark, decode
from simulator.engines import in_process
from simulator.engines.tasks import send
from simulator.engines.tasks.pacing import EarlyEnd
from simulator.engines.tasks.progress import Reporter
from simulator.faults.pipeline import InjectedFaults
from simulator.releases import V8_5
from simulator.run import execute, outputs, scenario
from simulator.run.plan import plan
from simulator.signals import StopRequest
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load

URI = "kafka://127.0.0.1:9/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
STEPS = (
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


class AskedInTheEnd(StopRequest):
    """A stop request that becomes true after so many checks."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def number(self) -> int:  # type: ignore[override]
        self._left -= 1
        return signal.SIGINT if self._left < 0 else 0


def sent(path: Path, looks: int) -> tuple[list[Message], int]:
    """Return the messages up to the stop, and the commit-ts up to which they are complete."""
    changefeed = load(URI, "", V8_5)
    planned = plan(scenario.load(path).run_spec(), changefeed, V8_5)
    messages: list[Message] = []
    output = outputs.MemoryOutput(changefeed, messages)
    work = execute.work_of(planned, output.for_plan(planned), V8_5, 0, 1e6, None)
    rows, owned, spec = in_process.ordered_rows(work, True)
    faults, early_end = InjectedFaults(planned.faults, 0), EarlyEnd(AskedInTheEnd(looks))
    faults.begin(spec)
    send.feed(rows, owned, spec, output.sink, lambda: True, Reporter(None), early_end, faults)
    output.close()
    return messages, early_end.last


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_that_ends_early_is_whole_up_to_its_last_watermark(fault: str, tmp_path: Path) -> None:
    path, ends = tmp_path / "early.toml", set()
    path.write_text("".join(f"[[step]]\n{step.format(fault=fault)}\n" for step in STEPS))
    whole = [event for each in sent(path, 1 << 30)[0] for event in decode(each.key, each.value)]
    changes = {(event.commit_ts or 0, str(event.after)) for event in whole if isinstance(event, RowEvent)}
    spec = replace(stream_spec_of(load(URI, "", V8_5), (), {"shop": 2}, restarts=True, release=V8_5), complete=False)
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
