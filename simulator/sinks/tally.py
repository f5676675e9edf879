"""The running account of one partition in a sink."""

from __future__ import annotations

from simulator.sinks.records import Delivered


class Tally:
    """Counts what one partition was given and what of it was delivered, in order."""

    def __init__(self, topic: int, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.records = 0
        self.bytes = 0
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.commit_ts: int | None = None
        self.error: str | None = None

    def delivered(self, records: int, size: int, offset: int | None, commit_ts: int) -> None:
        """Adds records that arrived; `offset` is the first one's, None where unknown."""
        if offset is not None:
            self.first_offset = offset if self.first_offset is None else self.first_offset
            self.next_offset = offset + records
        self.records += records
        self.bytes += size
        self.commit_ts = commit_ts

    def account(self) -> Delivered:
        """The account as it stands."""
        return Delivered(
            self.topic, self.partition, self.records, self.bytes, self.first_offset, self.commit_ts, self.error
        )


class Tallies:
    """The accounts of all partitions of a sink, made when first asked for."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], Tally] = {}

    def __getitem__(self, place: tuple[int, int]) -> Tally:
        return self._of.setdefault(place, Tally(*place))

    @property
    def failed(self) -> bool:
        """Whether any partition has an error."""
        return any(tally.error is not None for tally in self._of.values())

    def accounts(self) -> list[Delivered]:
        """In order of topic and partition."""
        return [self._of[place].account() for place in sorted(self._of)]
