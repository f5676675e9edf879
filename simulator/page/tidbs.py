"""The TiDBs of a page: the served one, and fresh ones of other releases, on which the same SQL is replayed.

A fresh TiDB is a served one, too, with its own port. What is replayed there commits at the times of the first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from simulator import releases, tso
from simulator.api.server import TiCDCServer
from simulator.api.session import TiCDC
from simulator.changefeeds import Retention
from simulator.changefeeds.served import ServedChangefeed, clock_ms
from simulator.changefeeds.spec import compiled, require_allowed, require_no_rule_file
from simulator.errors import DdlError, SqlError, UserError
from simulator.page.messages import MOST_AT_ONCE, MOST_MESSAGES, Feed
from simulator.page.scripts import Executed, played
from simulator.serve.handler import ClientHandler
from simulator.settings import DEFAULT_SINK_URI
from simulator.ticdc.codecs import CODECS
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.errors import error_number

MOST_EXECUTED = 10_000
"""Statements that are kept for a replay and for a file."""

MOST_TIDBS = 6
MOST_SESSIONS = 32

FIRST_DATABASE = "test"
"""The current database of a page's session; every new TiDB has it."""


class Clock:
    """The milliseconds of a TiDB: those of the machine, but for what is replayed."""

    def __init__(self) -> None:
        self.at_ms = 0
        """The time of what is replayed; 0 for none."""

    def __call__(self) -> int:
        return self.at_ms or clock_ms()


class PageTidb:
    """A TiDB, its sessions and feeds on the page, and what was executed there."""

    def __init__(self, number: int, served: TiCDCServer, title: str, clock: Clock | None = None) -> None:
        """`clock` is that of a fresh one; None for the served TiDB, which other clients use."""
        self.number, self.served, self.title = number, served, title
        self.log: deque[Executed] = deque(maxlen=MOST_EXECUTED)
        self._clock = clock
        started = (each.spec.start_ts for each in served.changefeeds.list())
        self._start_ts = min(started, default=served.changefeeds.now_ts)
        self._handlers: dict[str, ClientHandler] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._feeds: dict[ServedChangefeed, Feed] = {}

    # -- SQL ---------------------------------------------------------------------------------------------------------

    async def execute(self, session: str, text: str, at_ms: int = 0) -> StatementOutcome | SqlError | DdlError:
        """Execute a statement of a session, at a millisecond if it is replayed; return what TiDB answers."""
        turn = self._turns.setdefault(session, asyncio.Lock())
        async with turn:
            handler = await self._handler(session)
            answer: StatementOutcome | SqlError | DdlError
            if self._clock is not None:
                self._clock.at_ms = at_ms
            try:
                _, answer = await handler.run_text(text, self.sql_mode(session))
            except (SqlError, DdlError) as error:
                answer = error
            finally:
                if self._clock is not None:
                    self._clock.at_ms = 0
            committed = isinstance(answer, StatementOutcome) and answer.events
            at_ms = self.served.changefeeds.history.now_ms - 1 if committed else at_ms or clock_ms()
            number = 0 if isinstance(answer, StatementOutcome) else error_number(answer)
            self.log.append(Executed(session, text, number, at_ms))
            return answer

    def sql_mode(self, session: str) -> frozenset[str]:
        handler = self._handlers.get(session)
        return frozenset() if handler is None else handler.client.session.settings.sql_mode

    async def _handler(self, session: str) -> ClientHandler:
        """Return the connection of a session, which begins with its first statement."""
        if session not in self._handlers:
            while len(self._handlers) >= MOST_SESSIONS:
                await self.end_session(next(iter(self._handlers)))
            handler = self._handlers[session] = ClientHandler(self.served.server, self.served.database.connect())
            settings = handler.client.session.settings
            handler.client.session.settings = replace(settings, database=FIRST_DATABASE, user="root@page")
        return self._handlers[session]

    async def end_session(self, session: str) -> None:
        """Roll the session's transaction back, and forget the session."""
        self._turns.pop(session, None)
        handler = self._handlers.pop(session, None)
        if handler is not None:
            await handler.close()

    async def deliver(self) -> None:
        """Let the messages of all commits be sent now."""
        await self.served.server.call(self.served.deliver)

    # -- changefeeds -------------------------------------------------------------------------------------------------

    @property
    def first_ts(self) -> int:
        """The lowest TSO at which a changefeed can begin."""
        return max(self._start_ts, self.served.changefeeds.history.safe_ts + 1)

    def changefeed(self, name: str) -> ServedChangefeed:
        """Return the changefeed `name`, or `namespace/name`; raises ChangefeedError."""
        namespace, _, bare = name.rpartition("/")
        return self.served.changefeeds.get(bare, namespace or "default")

    async def fetch(self, feed: Feed) -> None:
        """Decode what a changefeed has sent since, at most MOST_AT_ONCE messages."""
        sent, following = feed.changefeed.sent, feed.next_number
        feed.add(await self.served.server.call(lambda: sent.since(following)[:MOST_AT_ONCE]))

    async def whole_feed(self, changefeed: ServedChangefeed) -> Feed:
        """Return the messages of a changefeed, all of them decoded."""
        feed = self.feed(changefeed)
        while feed.next_number < changefeed.sent.next_number:
            await self.fetch(feed)
        return feed

    def feed(self, changefeed: ServedChangefeed) -> Feed:
        """Return the messages of a changefeed that are decoded so far."""
        feed = self._feeds.get(changefeed)
        if feed is None:
            known = set(self.served.changefeeds.list())
            self._feeds = {each: other for each, other in self._feeds.items() if each in known}
            feed = self._feeds[changefeed] = Feed(changefeed)
        return feed

    def members(self) -> dict[str, Any]:
        """Return what the page shows of it."""
        release = self.served.release
        return {
            "id": self.number,
            "title": self.title,
            "release": release.name,
            "architecture": release.architecture,
            "protocols": [
                name
                for name, codec in CODECS.items()
                if "kafka" in codec.protocol.sinks and codec.protocol.exists(release)
            ],
            "address": f"{self.served.host}:{self.served.port}",
            "changefeeds": [changefeed_members(each) for each in self.served.changefeeds.list()],
        }


def changefeed_members(changefeed: ServedChangefeed) -> dict[str, Any]:
    """Return what the page shows of a changefeed."""
    spec, compiled, error = changefeed.spec, changefeed.changefeed, changefeed.error
    return {
        "name": spec.name if spec.namespace == "default" else f"{spec.namespace}/{spec.name}",
        "protocol": compiled.codec.protocol,
        "partitions": compiled.kafka.partitions,
        "writes_files": compiled.storage is not None,
        "state": changefeed.state,
        "error": None
        if error is None
        else error.message
        if error.code in error.message
        else f"{error.code}: {error.message}",
    }


class PageTidbs:
    """All TiDBs of a page by number. Number 0 is the served one, which is always there."""

    def __init__(self, served: TiCDCServer, changed: Callable[[], None]) -> None:
        """`changed` is called after messages of a TiDB were sent or the state of a changefeed changed; in any thread."""
        self._changed = changed
        self._tidbs = {0: PageTidb(0, served, f"served: {_title(served)}")}
        self._serving: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        served.changefeeds.subscribe(changed)

    def __iter__(self) -> Iterator[PageTidb]:
        return iter(self._tidbs.values())

    def get(self, number: int) -> PageTidb:
        """Return a TiDB; raises UserError."""
        if number not in self._tidbs:
            raise UserError(f"there is no TiDB {number} any more: it was stopped for a newer one")
        return self._tidbs[number]

    async def fresh(
        self, release: str, sink_uri: str | None, config: str | None, time_zone: str, log: Iterable[Executed] = ()
    ) -> PageTidb:
        """Start a TiDB of a release (`new:v8.5.4`) with one changefeed, and replay statements there.

        The oldest fresh one is stopped if there are too many. Raises UserError for what TiCDC refuses, and for a
        changefeed that would write or read files.
        """
        kind, _, tag = release.rpartition(":")
        require_no_rule_file(config)
        require_allowed(compiled(sink_uri, config, releases.find(tag, kind or None), SINK_URI), ())
        replayed = [each for _, each in played(log)]
        clock = Clock()
        clock.at_ms = replayed[0].at_ms if replayed else 0
        ticdc = TiCDC(
            release,
            sink_uri=sink_uri,
            assumed_uri=SINK_URI,
            config=config,
            tz=time_zone,
            start_ts=tso.compose(clock() - 1),
            databases=(),
            keep_history=False,
        )
        sinks, retention = replace(ticdc.sinks, storages=()), Retention(shown=MOST_MESSAGES)
        served = TiCDCServer(ticdc, clock=clock, sinks=sinks, retention=retention)
        while len(self._tidbs) >= MOST_TIDBS:
            await self.stop(min(self._serving))
        ready = asyncio.Event()
        serving = asyncio.create_task(served.server.serve(ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if serving.done():
            serving.result()
        self._last += 1
        tidb = PageTidb(self._last, served, f"fresh {self._last}: {_title(served)}", clock)
        self._tidbs[tidb.number], self._serving[tidb.number] = tidb, serving
        served.changefeeds.subscribe(self._changed)
        for each in replayed:
            await tidb.execute(each.session, each.text, each.at_ms)
        await tidb.deliver()
        return tidb

    async def stop(self, number: int) -> None:
        tidb, serving = self._tidbs.pop(number), self._serving.pop(number)
        tidb.served.server.stop()
        await serving
        tidb.served.close()

    async def close(self) -> None:
        """Stop all fresh TiDBs."""
        for number in list(self._serving):
            await self.stop(number)


SINK_URI = f"{DEFAULT_SINK_URI}&partition-num=3"
"""The sink of a fresh TiDB where nothing is said."""


def _title(served: TiCDCServer) -> str:
    return f"{served.release.name}, {served.release.architecture}"
