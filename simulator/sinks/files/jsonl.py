"""Fixtures as JSON lines, one a record: `{"offset": …, "timestamp": …, "key": …, "value": …, "events": […]}`.

Law: offsets start at 0; the timestamp is the physical time of the record's last TSO; key and value are base64, or null.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.sinks.files.partition_files import PartitionFiles
from simulator.sinks.records import Records, Run
from simulator.ticdc.codecs.binary import base64


class JsonLines(PartitionFiles):
    """Appends to one file for each partition; holds none of them open."""

    def _deliver(self, run: Run, offset: int) -> None:
        with self._path(run).open("ab") as file:
            file.write(lines(run.records, offset))


def lines(records: Records, offset: int) -> memoryview:
    """The lines of the records of one partition, the first of which has that offset."""
    number = pa.array(np.arange(offset, offset + len(records.value)))
    events = records.events if records.events is not None else pa.scalar("[]", pa.large_string())
    fields = [
        '{"offset": ', number, ', "timestamp": ', pc.shift_right(records.commit_ts, 18),
        ', "key": ', _quoted(records.key), ', "value": ', _quoted(records.value),
        ', "events": ', events, "}\n",
    ]  # fmt: skip
    return _bytes(pc.binary_join_element_wise(*(_text(field) for field in fields), _text("")))


def empty(path: Path) -> None:
    """The file of a partition without records."""
    path.touch()


def _quoted(column: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise(_text('"'), _text(base64(column)), _text('"'), _text(""))
    return quoted.fill_null("null") if column.null_count else quoted


def _text(field: str | pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    return pa.scalar(field, pa.large_string()) if isinstance(field, str) else field.cast(pa.large_string())


def _bytes(column: pa.Array) -> memoryview:
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(column.buffers()[2])[int(offsets[0]) : int(offsets[-1])]
