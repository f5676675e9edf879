"""What a protocol is to the rest: four functions. One law: they are pure, equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.releases import Release
from simulator.ticdc.codecs.options import CodecOptions
from simulator.ticdc.codecs.rows import DdlEvent, Encoded, Messages, Rows

Entry = tuple[bytes | None, bytes]
"""Key and value of one event; the key is None in a protocol without."""


@dataclass(frozen=True)
class Codec:
    encode: Callable[[Rows, CodecOptions, Release], Encoded]
    """Row changes of one table → key and value of each; raises EncodeError."""

    frame: Callable[[Encoded, npt.NDArray[np.int64], CodecOptions, Release], Messages]
    """Rows → messages; only rows next to each other whose numbers in the array are equal may share one."""

    ddl: Callable[[DdlEvent, CodecOptions, Release], Entry]
    """A statement → its key and value, not framed yet."""

    watermark: Callable[[int, CodecOptions, Release], Entry | None]
    """A TSO → key and value, not framed yet, that say all before it was sent; None where the protocol has none."""

    def message(self, entry: Entry, options: CodecOptions, release: Release) -> Entry:
        """One event as a message of its own."""
        key, value = entry
        encoded = Encoded(None if key is None else pa.array([key], pa.binary()), pa.array([value], pa.binary()))
        framed = self.frame(encoded, np.zeros(1, np.int64), options, release)
        return None if framed.keys is None else framed.keys[0].as_py(), framed.values[0].as_py()
