"""What a protocol is to the rest: four functions. One law: they are pure, equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.codecs.options import CodecOptions
from simulator.codecs.rows import DdlEvent, Encoded, Messages, Rows
from simulator.releases import Release


@dataclass(frozen=True)
class Codec:
    encode: Callable[[Rows, CodecOptions, Release], Encoded]
    """Row changes of one table → key and value of each; raises EncodeError."""

    frame: Callable[[Encoded, npt.NDArray[np.int64], CodecOptions], Messages]
    """Rows → messages; only rows next to each other whose numbers in the array are equal may share one."""

    ddl: Callable[[DdlEvent, CodecOptions, Release], tuple[bytes | None, bytes]]
    """A statement → key and value of its message."""

    watermark: Callable[[int, CodecOptions, Release], tuple[bytes | None, bytes] | None]
    """A TSO → key and value of the message that says all before it was sent; None where the protocol has none."""
