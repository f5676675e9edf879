"""Where in files on a storage a failure is: the file and row instead of a number in its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulator.reader.partitions import StreamPartition
from simulator.reader.storage.table_events import TableEvents, TableFiles
from simulator.reader.verify.verification import Failure


def in_files(failures: Iterable[Failure], partitions: Iterable[StreamPartition]) -> Iterator[Failure]:
    """Yield the failures; examples in the tables of a storage name their file and row. Reads these tables again."""
    failures = list(failures)
    examples = [example for failure in failures for example in failure.examples]
    places: dict[tuple[str, int | None], str] = {}
    for partition in partitions:
        offsets = {each.offset for each in examples if each.topic == partition.topic and each.offset is not None}
        if offsets and isinstance(partition.source, TableFiles):
            named = TableEvents(partition.source).places(offsets)
            places |= {(partition.topic, offset): place for offset, place in named}
    for failure in failures:
        located = (replace(each, at=places.get((each.topic, each.offset), "")) for each in failure.examples)
        yield replace(failure, examples=tuple(located))
