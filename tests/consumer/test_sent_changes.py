"""A row change that is not as it was sent is told, even if a later statement or row change hides it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mutant_streams import Protocol, Recorded, record, verified

from simulator.columns.change_sums import CHANGES, DELETES, ChangeSum
from simulator.consumer.contract.sent_changes import check_sent_changes
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.verify.verification import RIGHT

STORY = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE gone (id INT PRIMARY KEY, v VARCHAR(9), pic BLOB, grade ENUM('low', 'high'));
INSERT INTO gone VALUES (1, 'first', x'ff00', 'high');
INSERT INTO gone VALUES (2, 'second', NULL, 'low');
UPDATE gone SET v = 'third' WHERE id = 1;
DELETE FROM gone WHERE id = 2;
DROP TABLE gone;
"""

PROTOCOLS = {
    "open-protocol": Protocol("open-protocol", "&max-batch-size=1"),
    "canal-json": Protocol("canal-json"),
    "canal-json with the extension": Protocol("canal-json", "&enable-tidb-extension=true"),
    "simple": Protocol("simple"),
}


@pytest.fixture(scope="module", params=PROTOCOLS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(STORY, PROTOCOLS[request.param], tmp_path_factory.mktemp("sent") / "story")


def told(recorded: Recorded, old: bytes, new: bytes | None) -> list[tuple[str, str]]:
    """The checks and examples of the stream whose first message with `old` has `new` there, or is lost."""
    stream = {partition: list(messages) for partition, messages in recorded.messages.items()}
    place = next(
        (partition, offset)
        for partition, messages in stream.items()
        for offset, message in enumerate(messages)
        if old in (message.value or b"") and b"CREATE" not in (message.value or b"")
    )
    message = stream[place[0]].pop(place[1])
    if new is not None:
        changed = type(message)(message.timestamp, message.key, (message.value or b"").replace(old, new))
        stream[place[0]].insert(place[1], changed)
    verification = verified(stream, recorded)
    assert (verification.verdict == RIGHT) == (old == new)
    return [(failure.check, failure.examples[0].what) for failure in verification.failures]


def test_what_was_sent_is_right(recorded: Recorded) -> None:
    assert [] == told(recorded, b"second", b"second")


def test_a_value_of_a_table_that_is_dropped_is_told(recorded: Recorded) -> None:
    what = "INSERTs and UPDATEs of shop.gone: 3, of which at least one has another value than was sent"
    assert ("changes-different", what) in told(recorded, b"third", b"other")


def test_a_row_change_of_a_table_that_is_dropped_is_missed(recorded: Recorded) -> None:
    what = "INSERTs and UPDATEs of shop.gone: sent 3, here 2"
    assert ("changes-missing", what) in told(recorded, b"third", None)


def test_a_commit_ts_between_those_beside_it_is_told(tmp_path: Path) -> None:
    """With the rows as they are."""
    recorded = record(STORY, PROTOCOLS["canal-json with the extension"], tmp_path / "story")
    (ts,) = {
        (message.value or b"").split(b'"commitTs":')[1].split(b"}")[0]
        for messages in recorded.messages.values()
        for message in messages
        if b"third" in (message.value or b"")
    }
    what = "INSERTs and UPDATEs of shop.gone: 3, of which at least one has another commit-ts than was sent"
    assert [("changes-different", what)] == told(recorded, ts, str(int(ts) + 1).encode())


def test_a_lost_schema_is_told_that_a_statement_tells_too(tmp_path: Path) -> None:
    recorded = record(STORY, PROTOCOLS["simple"], tmp_path / "story")
    what = "messages with the schema of shop.gone: sent 2, here 1"
    assert [("bootstrap-missing", what)] == told(recorded, b"BOOTSTRAP", None)


SENT = {("shop.t", CHANGES): ChangeSum(2, 7, 9), ("shop.t", DELETES): ChangeSum(1, 3, 4)}


@pytest.mark.parametrize(
    ("found", "checks"),
    [
        (SENT, []),
        ({**SENT, ("shop.t", CHANGES): ChangeSum(2, 7, None)}, []),
        ({**SENT, ("shop.t", DELETES): ChangeSum(7, None, None)}, []),
        ({**SENT, ("shop.t", CHANGES): ChangeSum(3, 8, 10)}, ["changes-different"]),
        ({("shop.t", DELETES): ChangeSum(1, 5, 4)}, ["changes-missing", "changes-different"]),
    ],
)
def test_what_messages_do_not_tell_is_not_compared(found: dict[tuple[str, str], ChangeSum], checks: list[str]) -> None:
    """Row images that are not TiDB's, and row changes without a commit-ts, which may have come again."""
    assert checks == [check for check, _ in check_sent_changes([PartitionSummary(("t", 0))], found, SENT).counts]
