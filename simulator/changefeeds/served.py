"""One changefeed of a served TiDB: it reads commits from the history at its own pace, and has one of TiCDC's states.

normal    it sends
warning   its sink does not answer; it tries again
stopped   paused: what is above its checkpoint comes again when it is resumed
failed    at an event that TiCDC cannot send, or below the kept history
finished  it has sent everything up to its target-ts

Source: tiflow v8.5.4 cdc/model/changefeed.go, cdc/owner/feed_state_manager.go.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from simulator import tso
from simulator.changefeeds.history import Commit, History
from simulator.changefeeds.spec import ChangefeedSpec
from simulator.changefeeds.stream import ChangefeedStream
from simulator.errors import CodedError, DeliveryError, EncodeError, SimulatorError
from simulator.reader.decode import Event
from simulator.run.open_changefeed import OpenChangefeed
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed

RUNNING = ("normal", "warning")

READ_AT_ONCE = 256
"""Commits that are read from the history together."""


@dataclass(frozen=True)
class RunningError:
    """Why a changefeed does not send."""

    code: str
    """TiCDC's, such as `CDC:ErrMessageTooLarge`."""

    message: str
    time_ms: int
    """When it came: milliseconds since 1970."""


class SentMessages:
    """The last messages of a changefeed, numbered from 0."""

    def __init__(self, most: int) -> None:
        self.next_number = 0
        """The number of the next message."""

        self._kept: deque[Message] = deque(maxlen=most)

    def extend(self, messages: list[Message]) -> None:
        self._kept.extend(messages)
        self.next_number += len(messages)

    def since(self, number: int) -> list[tuple[int, Message]]:
        """Return the messages from that number on that are kept, with their numbers."""
        first = self.next_number - len(self._kept)
        return [(place, self._kept[place - first]) for place in range(max(number, first), self.next_number)]

    def get(self, number: int) -> Message | None:
        """Return a message; None for one that is not kept."""
        place = number - (self.next_number - len(self._kept))
        return self._kept[place] if 0 <= place < len(self._kept) else None


class ServedChangefeed:
    """A changefeed by its name."""

    def __init__(
        self, spec: ChangefeedSpec, stream: ChangefeedStream, history: History, number: int, sent: SentMessages
    ) -> None:
        """It reads from the commit of that number on."""
        self.spec, self.stream = spec, stream
        self.state = "normal"
        self.failure: SimulatorError | None = None
        """Why it does not send, in state warning or failed."""

        self.error: RunningError | None = None
        self.create_time_ms = _clock_ms()
        self.checkpoint_ts = spec.start_ts
        """Everything up to this TSO was sent."""

        self.number = number
        """The number of the next commit that it reads."""

        self.sent = sent
        self._history = history

    @property
    def live(self) -> OpenChangefeed:
        return self.stream.live

    @property
    def changefeed(self) -> Changefeed:
        return self.stream.changefeed

    @property
    def runs(self) -> bool:
        return self.state in RUNNING

    @property
    def resolved_ts(self) -> int:
        """Everything up to this TSO was read."""
        return max(self.checkpoint_ts, tso.compose(self.live.position.now_ms - 1)) if self.runs else self.checkpoint_ts

    def take(self, commit: Commit) -> None:
        """Send a commit before it takes effect. Raises SimulatorError if it cannot, and then the commit is refused."""
        try:
            self.live.send_events(commit.events, commit.now_ms, prompt=False)
        except (DeliveryError, EncodeError) as error:
            self.fail(error)
            raise
        self.number += 1
        if self.live.stopped is not None:
            self.fail(self.live.stopped)

    def follow(self, now_ms: int = 0) -> None:
        """Send the commits that it has not read, with the watermarks until a millisecond."""
        if not self.runs:
            return
        try:
            for commit in self._unread():
                self.live.send_events(commit.events, commit.now_ms, prompt=False)
                self.number += 1
                if self.live.stopped is not None:
                    raise self.live.stopped
            self.live.deliver()
            if now_ms:
                self.live.advance(now_ms)
            self.checkpoint_ts = max(self.checkpoint_ts, self.live.watermark)
        except SimulatorError as error:
            self.fail(error)
        else:
            self.state, self.failure, self.error = "normal", None, None

    def _unread(self) -> Iterator[Commit]:
        while commits := self._history.since(self.number, READ_AT_ONCE):
            yield from commits

    def resolve(self, now_ms: int) -> None:
        """Send a watermark above everything so far."""
        self.follow(now_ms)
        if self.runs:
            self.live.resolve()
            self.checkpoint_ts = max(self.checkpoint_ts, self.live.watermark)

    def fail(self, error: SimulatorError) -> None:
        """Note why it cannot send. TiCDC tries again what the sink refuses, and stops at an event that cannot be sent."""
        self.state = "warning" if isinstance(error, DeliveryError) else "failed"
        self.failure = error
        code = error.code if isinstance(error, CodedError) else ""
        self.error = RunningError(code or "CDC:ErrKafkaSendMessage", str(error), _clock_ms())

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, as `TiCDC.messages` does."""
        self._settle(watermark)
        return self.stream.messages(False)

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events since the last call, as `TiCDC.events` does."""
        self._settle(watermark)
        return self.stream.events(False)

    def _settle(self, watermark: bool) -> None:
        now_ms = self._history.now_ms
        (self.resolve if watermark else self.follow)(now_ms)


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000
