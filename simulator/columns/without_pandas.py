"""Arrow without pandas: wherever that is installed, pyarrow imports it at the first Python value that it makes an array
of, which takes longer than all that a short command does (pyarrow 26: pandas-shim.pxi).

One law: who asks for pandas by its name still gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pyarrow as pa


class NoPandas:
    """A finder of modules that pyarrow meets when it looks."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not looked for here", name=name)


def without_pandas() -> None:
    """Has pyarrow look for pandas now, and not find it unless it was imported before."""
    finder = NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
