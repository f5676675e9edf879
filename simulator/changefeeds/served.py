"""One changefeed of a served TiDB: it reads commits from the history at its own pace, and has one of TiCDC's states.

normal    it sends
warning   its sink does not answer; it tries again
stopped   paused: what is above its checkpoint comes again when it is resumed
failed    at an event that TiCDC cannot send, or below the kept history
finished  it has sent everything up to its target-ts

Source: tiflow v8.5.4 cdc/model/changefeed.go, cdc/owner/feed_state_manager.go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from simulator import tso
from simulator.changefeeds.history import Commit, History
from simulator.changefeeds.spec import ChangefeedSpec, ChangefeedStream, SentMessages, changefeed_error
from simulator.errors import ChangefeedError, CodedError, DeliveryError, EncodeError, SimulatorError
from simulator.reader.decode import Event
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import Output
from simulator.run.plan.step import ScenarioStep
from simulator.sinks.memory import Message

NORMAL, WARNING, STOPPED, FAILED, FINISHED = "normal", "warning", "stopped", "failed", "finished"

RUNNING = (NORMAL, WARNING)

READ_AT_ONCE = 256
"""Commits that are read from the history together."""

FIRST_RETRY_SECONDS, MOST_RETRY_SECONDS = 1.0, 30.0
"""After which a sink that does not answer is tried again; the time doubles. TiCDC waits for 5 to 30 seconds (tiflow v8.5.4
pkg/retry/error_retry.go)."""

STUCK_SECONDS = 30 * 60
"""After which TiCDC gives up: changefeed-error-stuck-duration."""


@dataclass(frozen=True)
class RunningError:
    """Why a changefeed does not send."""

    code: str
    """TiCDC's, such as `CDC:ErrMessageTooLarge`."""

    message: str
    time_ms: int
    """When it came: milliseconds since 1970."""


class ServedChangefeed:
    """A changefeed by its name. Its methods may be called in any thread."""

    def __init__(
        self,
        spec: ChangefeedSpec,
        stream: ChangefeedStream,
        history: History,
        reopened: Callable[[ServedChangefeed], tuple[OpenChangefeed, int]],
        changed: Callable[[], None],
    ) -> None:
        """`reopened` opens it again at its checkpoint, and returns the number
        of the first commit above; `changed` is called after messages were sent or the state has changed."""
        self.spec, self.stream = spec, stream
        self.changefeed = stream.changefeed
        """The compiled one; that of `live` until it is resumed after an update."""

        self.state = NORMAL
        self.failure: SimulatorError | None = None
        """Why it does not send, in state warning or failed."""

        self.error: RunningError | None = None
        self.create_time_ms = clock_ms()
        self.checkpoint_ts = spec.start_ts
        """Everything up to this TSO was sent."""

        self.number = 0
        """The number of the next commit that it reads."""

        self.holds_commits = False
        """Whether commits wait for it, so that it is handed each before it takes effect."""

        self.keeps_messages = True
        """Whether messages wait for `messages` and `events`."""

        self._history, self._reopened, self._changed = history, reopened, changed
        self._lock, self._worker_lock = threading.RLock(), threading.Lock()
        self._reached = False
        """Whether everything up to the target-ts was sent."""

        self._is_closed = False
        self._warned_at = self._retry_at = 0.0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._worker: ThreadPoolExecutor | None = None
        self._queued: Future[None] | None = None

    @property
    def live(self) -> OpenChangefeed:
        return self.stream.live

    @property
    def sent(self) -> SentMessages:
        """The last messages, to be shown."""
        return self.stream.shown

    @property
    def runs(self) -> bool:
        return self.state in RUNNING

    @property
    def is_lost(self) -> bool:
        """Whether commits are gone that it has to send (the states are those of ChangeFeedInfo.NeedBlockGC)."""
        if self.runs and self.stream.is_open:
            return self.number < self._history.first
        return (self.runs or self.state == STOPPED) and self.checkpoint_ts <= self._history.safe_ts

    @property
    def resolved_ts(self) -> int:
        """Everything up to this TSO was read."""
        return max(self.checkpoint_ts, tso.compose(self.live.position.now_ms - 1)) if self.runs else self.checkpoint_ts

    @property
    def last_synced_ts(self) -> int:
        """The commit-ts of the last commit that it has read."""
        read = self._history.since(self.number - 1, 1) if self.number > self._history.first else ()
        return read[0].last_ts if read else self.spec.start_ts

    # -- sending -------------------------------------------------------------------------------------------------------

    def take(self, commit: Commit) -> None:
        """Send a commit before it takes effect. Raises SimulatorError if it cannot, and then the commit is refused."""
        with self._lock:
            try:
                self.live.send_events(commit.events, commit.now_ms, prompt=False)
            except (DeliveryError, EncodeError) as error:
                self.fail(error)
                raise
            self.number += 1
            if self.live.stopped is not None:
                self.fail(self.live.stopped)

    def pass_millisecond(self, now_ms: int) -> None:
        """Let a millisecond pass in which nothing commits."""
        with self._lock:
            try:
                self.live.send_events((), now_ms, prompt=False)
            except SimulatorError as error:
                self.fail(error)

    def follow(self, now_ms: int = 0, final: bool = False) -> None:
        """Send the commits that it has not read, with the watermarks until a millisecond, and with a `final` one above
        everything."""
        with self._lock:
            waits = self.state == WARNING and time.monotonic() < self._retry_at
            if not self.runs or waits or self._is_closed:
                return
            if self.is_lost:
                self.lose()
                return
            before = self.state, self.sent.next_number, self.checkpoint_ts
            try:
                self._send(now_ms, final)
            except SimulatorError as error:
                self.fail(error)
            else:
                self.failure = self.error = None
                self.state, self._retry_seconds = (FINISHED if self._reached else NORMAL), FIRST_RETRY_SECONDS
            if self.state not in RUNNING:
                self._shut()
            self._keep_sent()
            changed = before != (self.state, self.sent.next_number, self.checkpoint_ts)
        if changed:
            self._changed()

    def follow_soon(self, now_ms: int) -> None:
        """Call `follow` in a thread of its own, so that nobody waits for a sink that does not answer."""
        with self._worker_lock:
            if not self.runs or self._is_closed or self._queued is not None and self._queued_waits():
                return
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, f"ticdc-sim-{self.spec.name}")
            self._queued = self._worker.submit(self.follow, now_ms)

    def _queued_waits(self) -> bool:
        """Return whether the last call has not begun. Raises what it raised, if that was no SimulatorError."""
        assert self._queued is not None
        if not self._queued.done():
            return not self._queued.running()
        ended, self._queued = self._queued, None
        ended.result()
        return False

    def _send(self, now_ms: int, final: bool) -> None:
        if not self.stream.is_open or self.state == WARNING and self.live.output.is_remote and not self.holds_commits:
            self._reopen()
        self._reached = False
        for commit in self._unread():
            if 0 < self.spec.target_ts < commit.last_ts:
                self._reached = True
                break
            self.live.send_events(commit.events, commit.now_ms, prompt=False)
            self.number += 1
            if self.live.stopped is not None:
                raise self.live.stopped
        self.live.deliver()
        target_ms = tso.physical(self.spec.target_ts)
        if target_ms and (self._reached or now_ms > target_ms):
            self._reached, now_ms, final = True, target_ms, True
        if now_ms:
            self.live.advance(now_ms)
        if final:
            self.live.resolve()
        self.checkpoint_ts = self.spec.target_ts if self._reached else max(self.checkpoint_ts, self.live.checkpoint_ts)

    def _reopen(self) -> None:
        """Begin again at the checkpoint."""
        live, self.number = self._reopened(self)
        if live.output is not self.live.output:
            self._shut(complete=True)
        self.stream.renew(live)

    def _unread(self) -> Iterator[Commit]:
        while commits := self._history.since(self.number, READ_AT_ONCE):
            yield from commits
        if commits is None:
            raise self._lost()

    def _lost(self) -> ChangefeedError:
        return changefeed_error("ErrSnapshotLostByGC", self.checkpoint_ts, self._history.safe_ts)

    def _keep_sent(self) -> None:
        """Let `sent` have the messages so far, which then wait for `messages` or are forgotten."""
        (self.stream.note if self.keeps_messages else self.stream.take)()

    def reconnect(self, output: Callable[[], Output]) -> None:
        """Connect to the sink anew after a DeliveryError, if it has a connection. Raises DeliveryError."""
        with self._lock:
            if self.live.output.is_remote:
                self.live.reconnect(output())

    def _shut(self, complete: bool = False) -> None:
        """Close the connection to the sink; fixtures are complete then. What it has not taken comes again above the
        checkpoint."""
        if self.live.output.is_remote or complete:
            with suppress(DeliveryError):
                self.stream.close(complete and not self.live.output.is_remote)

    # -- states --------------------------------------------------------------------------------------------------------

    def fail(self, error: SimulatorError) -> None:
        """Note why it cannot send. TiCDC tries again what the sink refuses, and stops at an event that cannot be sent."""
        now = time.monotonic()
        if isinstance(error, DeliveryError):
            self._warned_at = now if self.state == NORMAL else self._warned_at
            stuck = not self.holds_commits and now - self._warned_at > STUCK_SECONDS
            refused = "CDC:ErrKafkaAsyncSendMessage" if self.changefeed.storage is None else "CDC:ErrS3StorageAPI"
            code = "CDC:ErrChangefeedUnretryable" if stuck else refused
            self.state = FAILED if stuck else WARNING
            if not self.holds_commits:
                self._retry_at = now + self._retry_seconds
                self._retry_seconds = min(2 * self._retry_seconds, MOST_RETRY_SECONDS)
        else:
            self.state = FAILED
            code = error.code if isinstance(error, CodedError) and error.code else "CDC:ErrOwnerUnknown"
        self.failure, self.error = error, RunningError(code, str(error), clock_ms())

    def lose(self) -> None:
        """Fail because commits above the checkpoint are gone."""
        self.fail(self._lost())
        self._shut()
        self._changed()

    def pause(self) -> None:
        """Send nothing from now on. One that does not run stays as it is."""
        if self.runs:
            self.follow()
        with self._lock:
            if self.runs:
                self.state, self.failure = STOPPED, None
                self._shut()

    def resume(self, checkpoint_ts: int) -> None:
        """Begin again behind a checkpoint. One that runs goes on as it does."""
        with self._lock:
            if not self.runs:
                self.state, self.failure, self.error, self.checkpoint_ts = NORMAL, None, None, checkpoint_ts
                self._retry_at = 0.0
                if self.stream.is_open:
                    self._reopen()

    def close(self, complete: bool) -> None:
        """Send no more, and close the output; a complete one ends at a watermark. Raises DeliveryError for what was not
        sent."""
        if complete:
            self._retry_at = 0.0
            self.follow(self._history.now_ms, final=True)
        with self._worker_lock:
            self._is_closed = True
        if self._worker is not None:
            self._worker.shutdown()
        with self._lock:
            self.stream.close(complete and self.state != WARNING)
        if complete and isinstance(self.failure, DeliveryError):
            failure, self.failure = self.failure, None
            raise failure

    # -- what it has sent ----------------------------------------------------------------------------------------------

    def play(self, step: ScenarioStep) -> None:
        """Play a step, such as a fault. Raises UserError for one that it cannot have, DeliveryError, and why it failed."""
        with self._lock:
            self.follow()
            if self.failure is not None:
                raise self.failure
            self.live.play(step)
            self._keep_sent()

    def resolve(self) -> None:
        """Send a watermark above everything so far."""
        self.follow(self._history.now_ms, final=True)

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, as `TiCDC.messages` does. Raises DeliveryError."""
        with self._lock:
            self._send_all(watermark)
            return self.stream.messages(False)

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events since the last call, as `TiCDC.events` does. Raises DeliveryError."""
        with self._lock:
            self._send_all(watermark)
            return self.stream.events(False)

    def files(self, watermark: bool = True) -> dict[str, bytes]:
        """Return the files of its storage, as `TiCDC.files` does. Raises DeliveryError."""
        with self._lock:
            self._send_all(watermark)
            return self.stream.files(False)

    def _send_all(self, watermark: bool) -> None:
        self.follow(self._history.now_ms, watermark)
        if isinstance(self.failure, DeliveryError):
            raise self.failure


def clock_ms() -> int:
    return time.time_ns() // 1_000_000
