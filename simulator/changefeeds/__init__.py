"""Several changefeeds on one served TiDB: they are created, paused, resumed, updated and removed while clients commit."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from simulator import tso
from simulator.changefeeds.history import History, commit_of
from simulator.changefeeds.served import FAILED, STOPPED, RunningError, ServedChangefeed
from simulator.changefeeds.spec import (
    ChangefeedSpec,
    ChangefeedStream,
    Config,
    SentMessages,
    Sinks,
    changefeed_error,
    compiled,
    require_allowed,
    require_no_rule_file,
    text_of,
)
from simulator.errors import ChangefeedError, DeliveryError, SimulatorError, UserError
from simulator.releases import Release
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import FilesOutput, Output
from simulator.run.plan.step import ScenarioStep
from simulator.sinks.memory import Message
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import check_tables
from simulator.ticdc.table_info import handle_key
from simulator.tidb.engine import Event
from simulator.tidb.engine.execution import Upstream

DEFAULT = "default"
"""The name of the changefeed that a server begins with, and of the first namespace."""

NAME = re.compile("[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*")
LONGEST_NAME = 128
"""Of a changefeed and of a namespace (tiflow v8.5.4 cdc/model/changefeed.go)."""

Messages = list[Message]

COLLECTED = 256
"""Commits after which old ones are dropped."""


@dataclass(frozen=True)
class Retention:
    """What a server keeps of what its changefeeds have sent."""

    messages: bool = True
    """Whether messages of each wait for `ServedChangefeed.messages`."""

    shown: int = 0
    """How many of the last messages of each are kept in any case."""

    commits: bool = True
    """Whether changefeeds can begin or be resumed in the past; it costs a fiftieth of an INSERT."""


class Changefeeds:
    """All changefeeds of a TiDB.

    What users do may be called in any thread, what the server does is called between two statements.
    """

    def __init__(
        self, upstream: Upstream, sinks: Sinks, time_zone: str, resolved_interval_ms: int, retention: Retention
    ) -> None:
        self.history, self.turn = History(), threading.RLock()
        """`turn` is held by who changes the TiDB or the list of changefeeds."""

        self._release, self._upstream, self._sinks = upstream.release, upstream.live(), sinks
        self._time_zone, self._interval_ms, self._retention = time_zone, resolved_interval_ms, retention
        self.keep: Callable[[], None] = lambda: None
        """Is called in turn when what `kept` returns has changed for good."""

        self._feeds: dict[tuple[str, str], ServedChangefeed] = {}
        self._holding: ServedChangefeed | None = None
        self._listeners: list[Callable[[], None]] = []
        self.clock: Callable[[], int] = lambda: 0
        """Returns milliseconds since 1970, or 0 where time is simulated."""

    # -- what users do -------------------------------------------------------------------------------------------------

    def create(
        self,
        changefeed: ChangefeedSpec | str,
        sink_uri: str = "",
        config: Config = None,
        start_ts: int = 0,
        target_ts: int = 0,
        namespace: str = DEFAULT,
    ) -> ServedChangefeed:
        """Create a changefeed from its spec, or from its name and the fields of a spec; it begins at its start-ts.

        Raises ChangefeedError with TiCDC's code, UserError, and DeliveryError if its sink does not answer.
        """
        if isinstance(changefeed, str):
            changefeed = ChangefeedSpec(changefeed, sink_uri, config, start_ts, target_ts, namespace)
        with self.turn:
            self.history.keeps = True
            spec = self._checked(changefeed)
        sent = list[Message]()
        output = self._output(spec, self.compiled(spec), sent)
        self._separate_fixtures()
        try:
            with self.turn:
                self._checked(spec)
                live, number = self._begun(spec, output, spec.start_ts)
                _check_tables(live, spec)
                feed = self._added(spec, live, sent, number)
        except BaseException:
            output.close(False)
            raise
        self._change()
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

    def pause(self, name: str, namespace: str = DEFAULT) -> None:
        """Stop a changefeed at its checkpoint. Raises ChangefeedError."""
        self.history.keeps = True
        self.get(name, namespace).pause()
        self._change()

    def resume(self, name: str, namespace: str = DEFAULT, overwrite_checkpoint_ts: int | None = None) -> None:
        """Let a changefeed that is stopped, failed or finished go on from its checkpoint, or from another one.

        Raises ChangefeedError for one above now or below the history.
        """
        feed = self.get(name, namespace)
        with self.turn:
            checkpoint_ts, now_ts = overwrite_checkpoint_ts or feed.checkpoint_ts, self.now_ts
            if checkpoint_ts > now_ts and overwrite_checkpoint_ts:
                text = f"invalid checkpoint-ts {checkpoint_ts}, larger than current tso {now_ts}"
                raise changefeed_error("ErrAPIInvalidParam", text)
            self._require_kept(checkpoint_ts)
            feed.resume(checkpoint_ts)
        self._change()

    def update(self, name: str, spec: ChangefeedSpec, namespace: str = DEFAULT) -> ServedChangefeed:
        """Give a changefeed that is stopped or failed another sink-uri, configuration or target-ts, with which it goes on
        when it is resumed. Name and start-ts stay. Raises ChangefeedError."""
        feed = self.get(name, namespace)
        if feed.state not in (STOPPED, FAILED):
            raise _refused("can only update changefeed config when it is stopped or failed")
        old = feed.spec
        spec = replace(spec, name=old.name, namespace=old.namespace, start_ts=old.start_ts)
        if 0 < spec.target_ts <= spec.start_ts:
            text = f"can not update target_ts:{spec.target_ts} less than start_ts:{spec.start_ts}"
            raise ChangefeedError(text, "CDC:ErrChangefeedUpdateRefused")
        if spec == old:
            raise _refused("changefeed config is the same with the old one, do nothing")
        try:
            changefeed = self.compiled(spec)
        except UserError as error:
            raise _refused(text_of(error)) from None
        feed.spec, feed.changefeed = spec, changefeed
        self._change()
        return feed

    def remove(self, name: str, namespace: str = DEFAULT) -> None:
        """Remove a changefeed. Raises ChangefeedError."""
        with self.turn:
            feed = self.get(name, namespace)
            del self._feeds[namespace, name]
            if feed is self._holding:
                self._holding = None
        with suppress(DeliveryError):  # what its sink has not taken concerns nobody any more
            feed.close(True)
        self._change()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a function, in any thread, after messages were sent or a state has changed. It must not wait for others."""
        self._listeners.append(listener)

    def _checked(self, spec: ChangefeedSpec) -> ChangefeedSpec:
        """Return the spec with its start-ts. Raises ChangefeedError as TiCDC's API does (cdc/api/v2/api_helpers.go,
        verifyCreateChangefeedConfig)."""
        for what, name in (("changefeed_id", spec.name), ("namespace", spec.namespace)):
            if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
                raise changefeed_error("ErrAPIInvalidParam", f"invalid {what}: {name}")
        if (spec.namespace, spec.name) in self._feeds:
            raise changefeed_error("ErrChangeFeedAlreadyExists", spec.name)
        now_ts = self.now_ts
        spec = replace(spec, start_ts=spec.start_ts or now_ts)
        if spec.start_ts > now_ts:
            text = f"invalid start-ts {spec.start_ts}, larger than current tso {now_ts}"
            raise changefeed_error("ErrAPIInvalidParam", text)
        self._require_kept(spec.start_ts)
        if 0 < spec.target_ts <= spec.start_ts:
            raise changefeed_error("ErrTargetTsBeforeStartTs", spec.target_ts, spec.start_ts)
        return spec

    def _require_kept(self, ts: int) -> None:
        if ts <= self.history.safe_ts:
            raise changefeed_error("ErrStartTsBeforeGC", ts, self.history.safe_ts)

    # -- opening -------------------------------------------------------------------------------------------------------

    def adopt(self, stream: ChangefeedStream, checkpoint_ts: int | None) -> None:
        """Take an open changefeed as the default one, for which commits wait while it cannot send. It goes on from a
        checkpoint, or begins with the history."""
        changefeed, live = stream.changefeed, stream.live
        stream.shown = SentMessages(self._retention.shown)
        spec = ChangefeedSpec(DEFAULT, changefeed.sink_uri, changefeed.config or None, live.position.start_ts)
        feed = ServedChangefeed(spec, stream, self.history, self._reopened, self.changed)
        if checkpoint_ts is not None:
            feed.number = self._begin(live, checkpoint_ts)
        feed.checkpoint_ts = checkpoint_ts or spec.start_ts
        feed.holds_commits = True
        self._feeds[DEFAULT, DEFAULT] = self._holding = feed

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return what a later server needs of each changefeed, as JSON."""
        return [
            {
                "spec": asdict(feed.spec)
                if isinstance(feed.spec.config, Mapping)
                else asdict(replace(feed.spec, config=feed.changefeed.config)),
                "state": feed.state,
                "error": None if feed.error is None else asdict(feed.error),
                "create_time_ms": feed.create_time_ms,
                "checkpoint_ts": feed.checkpoint_ts,
            }
            for feed in self.list()
        ]

    def restore(self, kept: Sequence[Mapping[str, Any]]) -> None:
        """Let the changefeeds of an earlier server go on from their checkpoints, all but an adopted one. Raises
        ChangefeedError for one that this server cannot have."""
        for each in kept:
            spec = ChangefeedSpec(**each["spec"])
            spec = replace(spec, config=spec.config or None)
            if (spec.namespace, spec.name) in self._feeds:
                continue
            sent = list[Message]()
            try:
                output = Output(self.compiled(spec), messages=sent)
            except ChangefeedError as error:
                raise ChangefeedError(f"changefeed {spec.id}: {error.text}", error.code) from None
            live = OpenChangefeed(output, self._release, spec.start_ts, keep_history=False)
            feed = self._added(spec, live, sent, 0)
            feed.stream.is_open = False
            feed.state, feed.checkpoint_ts = each["state"], each["checkpoint_ts"]
            feed.create_time_ms = each["create_time_ms"]
            feed.error = None if each["error"] is None else RunningError(**each["error"])

    def _added(self, spec: ChangefeedSpec, live: OpenChangefeed, sent: Messages, number: int) -> ServedChangefeed:
        stream = ChangefeedStream(live, sent, self._retention.shown)
        feed = ServedChangefeed(spec, stream, self.history, self._reopened, self.changed)
        feed.number, feed.keeps_messages = number, self._retention.messages
        self._feeds[spec.namespace, spec.name] = feed
        return feed

    def compiled(self, spec: ChangefeedSpec) -> Changefeed:
        """Return what a spec comes to. Raises ChangefeedError for one that this server does not allow: it writes files
        where it may not, or has rules in a file."""
        storages = self._sinks.storages
        if storages is not None:
            require_no_rule_file(spec.config)
        changefeed = compiled(spec.sink_uri, spec.config, self._release, time_zone=self._time_zone)
        if storages is not None:
            require_allowed(changefeed, storages)
        return changefeed

    def _output(self, spec: ChangefeedSpec, changefeed: Changefeed, sent: Messages) -> Output:
        return self._sinks.of(spec.name, spec.namespace).output(changefeed, self._release, sent)

    def _separate_fixtures(self) -> None:
        """Give the default changefeed a directory of fixtures of its own, like all others."""
        if self._holding is not None and isinstance(self._holding.live.output, FilesOutput) and self._sinks.fixtures:
            self._holding.live.output.move_to(self._sinks.fixtures / DEFAULT)

    def _begun(self, spec: ChangefeedSpec, output: Output, ts: int) -> tuple[OpenChangefeed, int]:
        """Open a changefeed behind a TSO; return it with the number of its first commit."""
        seed = self._upstream.database.seed
        live = OpenChangefeed(output, self._release, spec.start_ts, self._interval_ms, seed, keep_history=False)
        return live, self._begin(live, ts)

    def _begin(self, live: OpenChangefeed, ts: int) -> int:
        live.replace_upstream(self._upstream)
        number, now_ms = self.history.place(ts)
        live.begin_at(ts, now_ms, ((commit.events, commit.now_ms) for commit in self.history.statements_until(ts)))
        return number

    def _reopened(self, feed: ServedChangefeed) -> tuple[OpenChangefeed, int]:
        """Open a changefeed at its checkpoint. Raises UserError, and DeliveryError if its sink does not answer."""
        stream, output, changefeed = feed.stream, feed.live.output, feed.changefeed
        if stream.is_open and not output.is_remote and changefeed.storage is None:
            output.use(changefeed)
        else:
            output = self._output(feed.spec, changefeed, stream.sent)
            output.resume(feed.checkpoint_ts)
        return self._begun(feed.spec, output, feed.checkpoint_ts)

    # -- what the server does ------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The first millisecond without an event, or that of the clock."""
        held = self._holding.live.position.now_ms if self._holding is not None and self._holding.runs else 0
        return max(self.history.now_ms, held, self.clock())

    @property
    def now_ts(self) -> int:
        """The current TSO."""
        return tso.compose(self.now_ms)

    @property
    def failure(self) -> SimulatorError | None:
        """Why commits wait or are refused."""
        return None if self._holding is None else self._holding.failure

    def publish(self, events: Sequence[Event], now_ms: int) -> None:
        """Take a commit before it takes effect. Raises SimulatorError if it is refused."""
        holding, commit = self._holding, commit_of(events, now_ms)
        if holding is not None:
            if holding.number < self.history.end:
                holding.follow()
            if holding.failure is not None:
                raise holding.failure
            if holding.runs:
                holding.take(commit)
        self.history.append(commit)
        if not self.history.end % COLLECTED:
            self.collect()

    def pass_millisecond(self, now_ms: int) -> None:
        """Let the millisecond of a statement pass that has committed nothing."""
        self.history.now_ms = now_ms + 1
        if self._holding is not None and self._holding.runs and self.failure is None:
            self._holding.pass_millisecond(now_ms)

    def follow(self, now_ms: int = 0) -> None:
        """Send all commits so far, with the watermarks until a millisecond; those to a connection in threads of their
        own."""
        for feed in self.list():
            if feed.live.output.is_remote and not feed.holds_commits:
                feed.follow_soon(now_ms)
            else:
                feed.follow(now_ms)

    def collect(self) -> None:
        """Drop old commits, and fail the paused changefeeds that would need them; others fail when they go on."""
        needed = [feed.checkpoint_ts for feed in self.list() if feed.runs]
        self.history.collect(self.now_ms, min(needed, default=tso.FOREVER))
        for feed in self.list():
            if not feed.runs and feed.is_lost:
                feed.lose()

    def reconnect(self) -> None:
        """Connect the default changefeed anew. Raises DeliveryError."""
        holding = self._holding
        if holding is not None:
            holding.reconnect(lambda: self._sinks.output(holding.changefeed, self._release, holding.stream.sent))

    def named(self, name: str) -> Sequence[ServedChangefeed]:
        """Return a changefeed, `NAME` or `NAMESPACE/NAME`; all that run for an empty name. Raises ChangefeedError."""
        namespace, slash, id = name.rpartition("/")
        return [self.get(id, namespace if slash else DEFAULT)] if name else [each for each in self.list() if each.runs]

    def resolve(self, name: str = "") -> None:
        """Send a watermark above everything so far, of those that `named` returns."""
        for feed in self.named(name):
            feed.resolve()

    def wait(self, milliseconds: int) -> None:
        """Let simulated time pass, with its watermarks."""
        self.history.now_ms = self.now_ms + milliseconds
        for feed in self.list():
            feed.follow(self.history.now_ms)

    def play(self, step: ScenarioStep, name: str = "") -> None:
        """Play a step, such as a fault, in the changefeeds that `named` returns and that can have it. Raises UserError if
        none can."""
        feeds = self.named(name)
        if not feeds:
            raise UserError("there is no changefeed that runs")
        refused: list[UserError] = []
        for feed in feeds:
            try:
                feed.play(step)
            except UserError as error:
                refused.append(error)
            self.history.now_ms = max(self.history.now_ms, feed.live.position.now_ms)
        if len(refused) == len(feeds):
            raise refused[0]

    def close(self) -> None:
        """Let all changefeeds but the adopted one end at a watermark. Raises DeliveryError for what was not sent."""
        lost = []
        for feed in self.list():
            if feed is not self._holding:
                try:
                    feed.close(True)
                except DeliveryError as error:
                    lost.append(f"changefeed {feed.spec.id}: {error}")
        if lost:
            raise DeliveryError(*lost)

    def end(self) -> int:
        """Send a last watermark of the adopted changefeed, and return it; the time if there is none, or it does not run.
        Raises DeliveryError."""
        feed = self._holding
        if feed is None:
            return self.now_ts
        feed.resolve()
        if isinstance(feed.failure, DeliveryError):
            raise feed.failure
        return feed.checkpoint_ts

    def _change(self) -> None:
        with self.turn:
            self.keep()
        self.changed()

    def changed(self) -> None:
        for listener in self._listeners:
            listener()


def _refused(text: str) -> SimulatorError:
    return changefeed_error("ErrChangefeedUpdateRefused", text)


def _check_tables(live: OpenChangefeed, spec: ChangefeedSpec) -> None:
    """Check the tables that are there when a changefeed begins, as TiCDC does. Raises ChangefeedError."""
    rules = live.rules
    tables = [table for table in live.position.catalog.tables.values() if rules.replicates(table)]
    ineligible = [f"{table.schema}.{table.name}" for table in tables if not handle_key(table)]
    if ineligible and not (rules.changefeed.force_replicate or spec.ignores_ineligible_tables):
        raise changefeed_error("ErrTableIneligible", f"[{' '.join(ineligible)}]")
    dispatch.verify_routes(rules.router, ((table.schema, table.name) for table in tables))
    dispatch.verify_tables(rules.router, tables)
    check_tables(rules, tables)
