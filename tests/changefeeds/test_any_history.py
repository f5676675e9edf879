"""Whatever is done to changefeeds, each sends what one that runs all the time sends, and repeats what is above its
checkpoint only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.changefeeds import history
from simulator.changefeeds.served import ServedChangefeed
from simulator.serve.database import Client
from simulator.sinks.memory import Message
from simulator.tidb.parser.sql import parse_sql

CANAL = "kafka://127.0.0.1:9092/canal?protocol=canal-json&enable-tidb-extension=true"
NAMES = ("one", "two")

SQL = (
    "INSERT INTO t VALUES ({n}, 'a') ON DUPLICATE KEY UPDATE s = CONCAT(s, 'b')",
    "INSERT INTO t SELECT id + 100, s FROM t LIMIT 3",
    "UPDATE t SET s = 'c' WHERE id < {n}",
    "UPDATE t SET id = id + 1000 WHERE id = {n}",
    "DELETE FROM t WHERE id = {n}",
    "ALTER TABLE t ADD COLUMN c{n} INT DEFAULT {n}",
    "TRUNCATE TABLE t",
    "CREATE TABLE IF NOT EXISTS u{n} (id INT PRIMARY KEY)",
    "RENAME TABLE u{n} TO v{n}",
)

Action = tuple[str, int, int]
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("sql"), st.integers(0, len(SQL) - 1), st.integers(1, 9)),
        st.tuples(st.sampled_from(("pause", "resume", "again", "begin anew", "read")), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("wait"), st.sampled_from((100, 1500)), st.just(0)),
    ),
    max_size=30,
)


class Watched:
    """A changefeed, and what it sent since it last began at a checkpoint."""

    def __init__(self, server: TiCDCServer, name: str) -> None:
        self.feed: ServedChangefeed = server.changefeeds.create(name, CANAL)
        self.since = [(self.feed.checkpoint_ts, list[Message]())]
        self.told_ts = self.feed.spec.start_ts
        """Its highest watermark."""

    def read(self) -> None:
        messages = self.feed.messages(watermark=False)
        own = changes(messages)
        self.since[-1][1].extend(own)
        self.told_ts = max([self.told_ts, *(message.commit_ts for message in messages if message not in own)])
        assert self.feed.checkpoint_ts <= self.told_ts, "consumers know it"

    def begins(self) -> None:
        self.since.append((self.feed.checkpoint_ts, []))

    def check(self, every: list[Message]) -> None:
        """Each time it sends all that is above its checkpoint, in order; the last time up to the end, if it runs."""
        for number, (checkpoint_ts, sent) in enumerate(self.since):
            due = [bytes_of(message) for message in every if message.commit_ts > checkpoint_ts]
            if number < len(self.since) - 1 or self.feed.state == "stopped":
                due = due[: len(sent)]
            assert [bytes_of(message) for message in sent] == due


def changes(messages: list[Message]) -> list[Message]:
    return [message for message in messages if b'"type":"TIDB_WATERMARK"' not in (message.value or b"")]


def bytes_of(message: Message) -> tuple[int, bytes | None, bytes | None]:
    return message.commit_ts, message.key, message.value


def run(server: TiCDCServer, client: Client, text: str) -> None:
    statement = parse_sql(text, frozenset())
    assert statement is not None
    server.database.execute(client, statement, text)


@pytest.mark.slow
@given(actions=ACTIONS, packed_together=st.sampled_from((1, 256)))
def test_any_sequence_of_pauses_and_statements(actions: list[Action], packed_together: int) -> None:
    with pytest.MonkeyPatch.context() as patch, TiCDC(sink_uri=CANAL, databases=()) as ticdc:
        patch.setattr(history, "PACKED_TOGETHER", packed_together)
        server = TiCDCServer(ticdc)
        client = server.database.connect()
        for text in ("USE test", "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50))"):
            run(server, client, text)
        watched = {name: Watched(server, name) for name in NAMES}
        done: list[tuple[Watched, list[Message]]] = []
        every: list[Message] = []
        for what, number, value in actions:
            if what == "sql":
                run(server, client, SQL[number].format(n=value))
            elif what == "wait":
                server.wait(f"{number}ms")
            else:
                each = watched[NAMES[number]]
                if what == "pause":
                    server.changefeeds.pause(each.feed.spec.name)
                    each.read()
                elif what == "read":
                    each.read()
                elif what == "begin anew":
                    each.read()
                    every += changes(server.messages(watermark=False))
                    done.append((each, list(every)))
                    server.changefeeds.remove(each.feed.spec.name)
                    watched[NAMES[number]] = Watched(server, NAMES[number])
                elif each.feed.state == "stopped":
                    if what == "again":
                        server.changefeeds.resume(each.feed.spec.name, overwrite_checkpoint_ts=each.feed.spec.start_ts)
                    else:
                        server.changefeeds.resume(each.feed.spec.name)
                    each.begins()
        for each in watched.values():
            if each.feed.state == "stopped":
                server.changefeeds.resume(each.feed.spec.name)
                each.begins()
            each.read()
        every += changes(server.messages(watermark=False))
        for each in watched.values():
            each.check(every)
        for each, until_then in done:
            each.check(until_then)
        assert {each.feed.state for each in watched.values()} == {"normal"}
        server.close()
