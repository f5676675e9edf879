"""Messages of statements that wait for each other are those of statements that are sent at once."""

from __future__ import annotations

import pytest

from simulator import releases
from simulator.run import open_changefeed
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import MemoryOutput
from simulator.run.steps.wait import WaitStep
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load

CONFIG = '[sink]\ndispatchers = [{matcher = ["test.*"], partition = "index-value", topic = "{schema}-{table}"}]'
STATEMENTS = [
    "USE test",
    "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) UNIQUE, b INT UNSIGNED)",
    "CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(9))",
    *(f"INSERT INTO {'tu'[n % 2]} (id, a) VALUES ({n}, 'a{n}'), ({n + 100}, 'b{n}')" for n in range(9)),
    "BEGIN",
    "UPDATE t SET a = 'c' WHERE id = 2",
    "INSERT INTO u VALUES (900, NULL)",
    "COMMIT",
    "SELECT * FROM t",
    "ALTER TABLE u ADD COLUMN c INT DEFAULT 7",
    "DELETE FROM u WHERE id < 6",
    "UPDATE t SET id = id + 50 WHERE id > 3",
    *(f"REPLACE INTO t VALUES ({n % 7}, 'x{n}', {n})" for n in range(9)),
]


def messages_of(protocol: str, tag: str, prompt: bool) -> list[Message]:
    release = releases.find(tag)
    uri = f"kafka://127.0.0.1:9092/t?protocol={protocol}&partition-num=3&enable-tidb-extension=true&max-batch-size=4"
    changefeed = load(uri, CONFIG, release)
    sent: list[Message] = []
    live = OpenChangefeed(MemoryOutput(changefeed, sent), changefeed, release, resolved_interval_ms=10)
    for number, text in enumerate(STATEMENTS):
        live.execute(text, prompt)
        if number == 10:
            live.play(WaitStep(25))
    live.resolve()
    return sent


@pytest.mark.parametrize(
    ("protocol", "tag"),
    [
        ("open-protocol", "v8.5.3"),
        ("open-protocol", "v6.5.6"),
        ("canal-json", "v8.5.3"),
        ("simple", "v8.5.3"),
        ("debezium", "v8.5.3"),
    ],
)
def test_messages_that_wait_are_the_same(protocol: str, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_changefeed, "MOST_WAITING", 12)
    waited, prompt = (messages_of(protocol, tag, prompt) for prompt in (False, True))
    assert len(prompt) > len(STATEMENTS)
    assert waited == prompt


def test_messages_wait_until_they_are_delivered() -> None:
    changefeed = load("kafka://127.0.0.1:9092/t?protocol=canal-json", "", releases.find("v8.5.3"))
    sent: list[Message] = []
    live = OpenChangefeed(MemoryOutput(changefeed, sent), changefeed, releases.find("v8.5.3"))
    live.execute("CREATE TABLE test.t (id INT PRIMARY KEY)")
    before = len(sent)
    live.execute("INSERT INTO test.t VALUES (1)", prompt=False)
    waiting = len(sent)
    live.deliver()
    assert waiting == before < len(sent)
