"""Tests with one case for each file, or each part of a file, of a directory that was given (`--stories DIR` and the like)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def parametrize(
    metafunc: pytest.Metafunc,
    argument: str,
    directory: Path,
    find: Callable[[Path], Iterable[Case]],
    name: Callable[[Case], str],
    fast: str = "",
) -> None:
    """Give a test each case of a directory, by default the one in tests/; an option of that name names another.

    Cases whose whole name does not match the regular expression `fast` are marked slow.
    """
    if argument not in metafunc.fixturenames:
        return
    searched = Path(metafunc.config.getoption(f"--{directory.name}") or directory)
    cases = list(find(searched))
    if not cases:
        raise pytest.UsageError(f"no {directory.name} in {searched}")
    marks = [() if re.fullmatch(fast, name(case)) else (pytest.mark.slow,) for case in cases]
    metafunc.parametrize(
        argument, [pytest.param(case, id=name(case), marks=marked) for case, marked in zip(cases, marks, strict=True)]
    )
