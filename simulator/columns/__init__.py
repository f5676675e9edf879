"""The shapes in which rows flow: the row image, the change frame, and what is made of whole Arrow columns of bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pyarrow as pa


class NoPandas:
    """An import finder that hides pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not looked for here", name=name)


def without_pandas() -> None:
    """Make pyarrow look for pandas now, and not find it unless it was imported before.

    It does so at the first Python value that it converts to an array, which takes longer than a short command (pyarrow
    26: pandas-shim.pxi). Code that imports pandas itself still gets it.
    """
    finder = NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
