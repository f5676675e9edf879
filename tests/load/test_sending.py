"""Windows sent: a partition gets its messages in order and at the requested pace, with and without prefetch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest
from support.loads import Run, shop_plan, window
from support.playing import BY_KEY

from simulator import tso
from simulator.columns.change_frame import INSERT
from simulator.engines.tasks import TaskReport
from simulator.engines.tasks.messages import FlushMessages
from simulator.errors import UserError
from simulator.load import sender as sender_module
from simulator.load.epochs import Pace, SchemaEpoch, Window
from simulator.load.sender import WindowSender, send_window, window_messages
from simulator.signals import StopRequest
from simulator.sinks.memory import MemorySink, Message
from simulator.sinks.records import Records

PROTOCOLS = ("open-protocol", "canal-json")


def of(protocol: str) -> SchemaEpoch:
    uri = "kafka://127.0.0.1:9092/load?partition-num=4&protocol="
    return Run(shop_plan(), protocol, uri=uri, toml=BY_KEY).at(0)


def ahead_of_time(made: SchemaEpoch, ends: Sequence[int]) -> list[Message]:
    """Send windows one after the other, while the next one is made."""
    messages: list[Message] = []
    sender = WindowSender(MemorySink(messages, ["load"]))
    for first, end in zip((0, *ends), ends):
        sender.send(window(made, first, end), range(4))
        time.sleep(0.02)  # so that something is there
    sender.close()
    return messages


def one_by_one(made: SchemaEpoch, bounds: Sequence[int], owned: Sequence[int] = range(4)) -> list[Message]:
    """Send the windows between these milliseconds, each with a sender of its own."""
    messages: list[Message] = []
    sink = MemorySink(messages, ["load"])
    for first, end in zip(bounds, bounds[1:]):
        send_window(window(made, first, end), owned, sink)
    return messages


def by_partition(messages: Sequence[Message]) -> dict[int, list[tuple[bytes | None, bytes | None]]]:
    """Return keys and values in order."""
    found: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
    for message in messages:
        found.setdefault(message.partition, []).append((message.key, message.value))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "ends"),
    [
        ("open-protocol", (100, 200, 300, 400)),
        ("canal-json", (100, 150, 151, 390, 400)),
        ("open-protocol", (30, 400)),
        ("canal-json", (400,)),
    ],
)
def test_messages_made_ahead_are_those_that_would_be_made_for_the_window(protocol: str, ends: tuple[int, ...]) -> None:
    """The next window may be shorter or longer than expected; nothing is made ahead beyond a statement."""
    made = of(protocol)
    expected = by_partition(one_by_one(made, (0, *ends)))
    assert by_partition(ahead_of_time(made, ends)) == expected
    assert by_partition(ahead_of_time(replace(made, end_ms=ends[-1]), ends)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tasks_may_change_places_from_window_to_window(protocol: str) -> None:
    """Spark assigns windows to any free process."""
    made, messages = of(protocol), list[Message]()
    senders = [WindowSender(MemorySink(messages, ["load"])) for _ in range(2)]
    for number, first in enumerate(range(0, 400, 100)):
        for task in range(2):
            senders[(task + number // 2) % 2].send(window(made, first, first + 100), range(task, 4, 2))
    for sender in senders:
        sender.close()

    assert by_partition(messages) == by_partition(one_by_one(made, range(0, 401, 100)))


@pytest.mark.slow
def test_little_is_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "MOST_BYTES", 5000)
    made = of("canal-json")
    ahead = sender_module.MessagePrefetch(window(made, 0, 10), frozenset(range(4)), steady=True)
    time.sleep(0.3)
    held = list(ahead._items)
    ahead.stop()

    assert 0 < sum(item.size for item in held) < 5000 + max(item.size for item in held)


def test_what_goes_wrong_ahead_of_a_window_is_raised_when_its_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def messages(of: Window, owned: Iterable[int]) -> Iterator[FlushMessages]:
        if of.first_ms:
            raise UserError("no such row")
        return window_messages(of, owned)

    monkeypatch.setattr(sender_module, "window_messages", messages)
    sender, made = WindowSender(MemorySink([], ["load"])), of("canal-json")
    assert sender.send(window(made, 0, 100), range(4)).changes
    with pytest.raises(UserError, match="no such row"):
        sender.send(window(made, 100, 200), range(4))
    sender.close()


class Clocked(MemorySink):
    """Records when records were written."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        super().__init__(self.messages, ["load"])
        self.came: list[tuple[float, int]] = []

    def write(self, records: Records) -> None:
        now = time.monotonic()
        self.came += [(now, tso.physical(ts)) for ts in records.commit_ts.to_pylist()]
        super().write(records)


def sent(made: SchemaEpoch, end_ms: int, pace: Pace, stop_request: StopRequest | None = None) -> tuple[Clocked, float]:
    """Return the sink, and when the window began."""
    sink, began = Clocked(), time.monotonic()
    send_window(window(made, 0, end_ms, pace), range(4), sink, stop_request)
    return sink, began


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_records_go_out_when_they_are_due_in_the_order_of_their_partition(protocol: str) -> None:
    made = of(protocol)
    sink, began = sent(made, 400, Pace(1.0, 0.0))
    late = [now - began - (ms - made.spec.start_ms) / 1000 for now, ms in sink.came]

    assert min(late) > -0.06  # 50 ms of records go together
    assert sorted(late)[len(late) // 2] < 0.5
    assert sink.came[-1][0] - began > 0.3
    assert by_partition(sink.messages) == by_partition(one_by_one(made, (0, 400)))


def test_a_window_that_is_late_catches_up() -> None:
    sink, began = sent(of("canal-json"), 2000, Pace(1.0, 5.0))

    assert sink.came[-1][0] - began < 1.5


@pytest.mark.slow
def test_nothing_is_held_back_once_an_end_is_asked_for() -> None:
    stop_request = StopRequest()
    stop_request.number = 2
    sink, began = sent(of("canal-json"), 400, Pace(0.01, 0.0), stop_request)

    assert sink.came[-1][0] - began < 5
    assert len(sink.came) == len(one_by_one(of("canal-json"), (0, 400)))


def counts(reports: Sequence[TaskReport]) -> Counter[int]:
    return sum((Counter({op: rows}) for report in reports for _, op, _, rows in report.changes), Counter[int]())


@pytest.mark.slow
def test_a_report_is_of_the_window_alone() -> None:
    made = of("open-protocol")
    sink = MemorySink([], ["load"])
    reports = [send_window(window(made, first, first + 100), range(4), sink) for first in range(0, 400, 100)]
    whole = send_window(window(made, 0, 400), range(4), MemorySink([], ["load"]))

    assert counts(reports) == counts([whole])
    assert counts(reports[:1])[INSERT] < counts(reports)[INSERT]
    assert sum(account.bytes for report in reports for account in report.delivered) == sum(
        account.bytes for account in sink.accounts()
    )
    assert all(report.sending and report.sending[0] <= report.sending[1] for report in reports)
