"""The changefeeds of one served TiDB: they are created, paused, resumed, updated and removed while clients commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator import tso
from simulator.changefeeds.errors import changefeed_error
from simulator.changefeeds.history import History, commit_of
from simulator.changefeeds.served import SentMessages, ServedChangefeed
from simulator.changefeeds.sinks import Sinks
from simulator.changefeeds.spec import ChangefeedSpec, compiled
from simulator.changefeeds.stream import ChangefeedStream
from simulator.errors import SimulatorError
from simulator.releases import Release
from simulator.run.open_changefeed import OpenChangefeed
from simulator.sinks.memory import Message
from simulator.tidb.engine.outcome import Event
from simulator.tidb.engine.upstream import Upstream

DEFAULT = "default"
"""The name of the changefeed that a server begins with."""


class Changefeeds:
    """All changefeeds of a TiDB. Methods are called between two statements."""

    def __init__(
        self,
        release: Release,
        upstream: Upstream,
        sinks: Sinks,
        time_zone: str = "",
        resolved_interval_ms: int = 1000,
        seed: int = 0,
        most_sent: int = 0,
    ) -> None:
        """`most_sent` messages of each changefeed are kept to be shown; the other arguments are those of `TiCDC`."""
        self.history = History()
        self._release, self._upstream, self._sinks = release, upstream.live(), sinks
        self._time_zone, self._interval_ms, self._seed, self._most_sent = (
            time_zone,
            resolved_interval_ms,
            seed,
            most_sent,
        )
        self._feeds: dict[tuple[str, str], ServedChangefeed] = {}
        self._holding: ServedChangefeed | None = None
        self._listeners: list[Callable[[], None]] = []

    # -- what users do -------------------------------------------------------------------------------------------------

    def create(self, spec: ChangefeedSpec) -> ServedChangefeed:
        """Create a changefeed, which begins at its start-ts. Raises ChangefeedError with TiCDC's code, UserError, and
        DeliveryError if its sink does not answer."""
        if (spec.namespace, spec.name) in self._feeds:
            raise changefeed_error("ErrChangeFeedAlreadyExists", spec.name)
        now_ts = tso.compose(self.now_ms)
        spec = replace(spec, start_ts=spec.start_ts or now_ts)
        if spec.start_ts > now_ts:
            text = f"invalid start-ts {spec.start_ts}, larger than current tso {now_ts}"
            raise changefeed_error("ErrAPIInvalidParam", text)
        if spec.start_ts <= self.history.safe_ts:
            raise changefeed_error("ErrStartTsBeforeGC", spec.start_ts, self.history.safe_ts)
        if 0 < spec.target_ts <= spec.start_ts:
            raise changefeed_error("ErrTargetTsBeforeStartTs", spec.target_ts, spec.start_ts)
        stream, number = self._opened(spec, spec.start_ts)
        feed = ServedChangefeed(spec, stream, self.history, number, SentMessages(self._most_sent))
        self._feeds[spec.namespace, spec.name] = feed
        self._changed()
        return feed

    def get(self, name: str, namespace: str = DEFAULT) -> ServedChangefeed:
        """Return a changefeed. Raises ChangefeedError."""
        feed = self._feeds.get((namespace, name))
        if feed is None:
            raise changefeed_error("ErrChangeFeedNotExists", f"{namespace}/{name}")
        return feed

    def list(self, namespace: str | None = None) -> Sequence[ServedChangefeed]:
        """Return the changefeeds of a namespace, or all, by their names."""
        return [feed for (where, _), feed in sorted(self._feeds.items()) if namespace in (None, where)]

    def remove(self, name: str, namespace: str = DEFAULT) -> None:
        """Remove a changefeed. Raises ChangefeedError."""
        feed = self.get(name, namespace)
        del self._feeds[namespace, name]
        if feed is self._holding:
            self._holding = None
        feed.live.close(feed.state == "normal")
        self._changed()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a function after messages were sent or a state has changed."""
        self._listeners.append(listener)

    def adopt(self, stream: ChangefeedStream, start_ts: int) -> ServedChangefeed:
        """Take an open changefeed as the default one, for which commits wait while it cannot send."""
        spec = ChangefeedSpec(DEFAULT, stream.changefeed.sink_uri, stream.changefeed.config, start_ts)
        feed = ServedChangefeed(spec, stream, self.history, self.history.end, SentMessages(self._most_sent))
        self._feeds[DEFAULT, DEFAULT] = self._holding = feed
        return feed

    def _opened(self, spec: ChangefeedSpec, ts: int) -> tuple[ChangefeedStream, int]:
        """Open a changefeed behind a TSO; return it with the number of its first commit."""
        changefeed = compiled(spec.sink_uri, spec.config, self._release, time_zone=self._time_zone)
        sent = list[Message]()
        output = self._sinks.of(spec.name).output(changefeed, self._release, sent)
        live = OpenChangefeed(output, self._release, spec.start_ts, self._interval_ms, self._seed, keep_history=False)
        live.replace_upstream(self._upstream)
        number, now_ms = self.history.place(ts)
        statements = ((commit.events, commit.now_ms) for commit in self.history.statements_until(ts))
        live.begin_at(ts, now_ms, statements)
        return ChangefeedStream(live, sent), number

    # -- what the server does ------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The first millisecond without an event in any changefeed."""
        running = (feed.live.position.now_ms for feed in self._feeds.values() if feed.runs)
        return max(self.history.now_ms, *running, 0)

    @property
    def failure(self) -> SimulatorError | None:
        """Why commits wait or are refused."""
        return None if self._holding is None else self._holding.failure

    def publish(self, events: Sequence[Event], now_ms: int) -> None:
        """Take a commit before it takes effect. Raises SimulatorError if it is refused."""
        if self.failure is not None:
            raise self.failure
        commit = commit_of(events, now_ms)
        if self._holding is not None:
            self._holding.take(commit)
        self.history.append(commit)

    def pass_millisecond(self, now_ms: int) -> None:
        """Let the millisecond of a statement pass that has committed nothing."""
        self.history.now_ms = now_ms + 1
        if self._holding is not None and self.failure is None:
            try:
                self._holding.live.send_events((), now_ms, prompt=False)
            except SimulatorError as error:
                self._holding.fail(error)

    def follow(self, now_ms: int = 0) -> None:
        """Send all commits so far, with the watermarks until a millisecond."""
        for feed in self.list():
            feed.follow(now_ms)
        self._changed()

    def resolve(self) -> None:
        """Send a watermark of each changefeed above everything so far. Raises DeliveryError."""
        for feed in self.list():
            feed.resolve(self.history.now_ms)
        self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()
