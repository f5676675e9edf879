"""The change frame: row changes as Arrow batches.

One law: a row that was not there has a null image, and every change has one image at least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

DELETE, UPDATE, INSERT = range(OPERATIONS := 3)
"""The order of row changes inside one commit-ts (tiflow: cdc/processor/sourcemanager/engine/pebble/encoding/key.go)."""

CHANGES = pa.schema([
    ("commit_ts", pa.int64()), ("table", pa.int32()), ("handle", pa.binary()), ("before", pa.binary()),
    ("after", pa.binary()),
])
"""A row that changed, with its images; null where it was not there, or is not any more."""


def op_of(before: pa.Array, after: pa.Array) -> npt.NDArray[np.int8]:
    """DELETE, UPDATE or INSERT, by which of the images are there."""
    was, stays = (~np.asarray(image.is_null()) for image in (before, after))
    return np.select([was & stays, was], [UPDATE, DELETE], INSERT).astype(np.int8)
