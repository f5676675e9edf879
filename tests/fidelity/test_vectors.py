"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test a vector.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import given_cases
from support.vectors.checks import KINDS
from support.vectors.files import DEFAULT, Vector, files, kind, of_unknown_release, vectors


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given_cases.parametrize(metafunc, "vector", DEFAULT, cases, name_of, ".*")


def cases(directory: Path) -> Iterator[Vector | str]:
    """Yield the vectors of every file, or the file's name where nothing can run them."""
    for path in files(directory):
        if kind(path) not in KINDS or of_unknown_release(path):
            yield path.name
        else:
            yield from vectors(path)


def name_of(case: Vector | str) -> str:
    return case if isinstance(case, str) else case.name


def test_vector(vector: Vector | str) -> None:
    """The simulator does what TiCDC did."""
    if isinstance(vector, str):
        pytest.fail(f"nothing here runs {vector}: its kind or release is not done yet")
    KINDS[kind(Path(vector.file))].run(vector)
