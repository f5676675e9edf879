"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test a vector.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.vectors import changefeed, codecs, ddl, dispatch, filtering, literals, rename, split, table_info
from support.vectors.files import DEFAULT, Vector, files, kind, of_unknown_release, vectors
from support.vectors.kinds import Kind

MODULES = (changefeed, codecs, ddl, dispatch, filtering, literals, rename, split, table_info)
KINDS: dict[str, Kind] = {name: kind for module in MODULES for name, kind in module.KINDS.items()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a vector, named by file and id or line."""
    directory = Path(metafunc.config.getoption("--vectors") or DEFAULT)
    found = [case for path in files(directory) for case in cases(path)]
    if not found:
        raise pytest.UsageError(f"no vector files in {directory}")
    metafunc.parametrize("vector", found, ids=[case if isinstance(case, str) else case.name for case in found])


def cases(path: Path) -> list[Vector | str]:
    """The vectors of a file, or its name where nothing can run them."""
    if kind(path) not in KINDS or of_unknown_release(path):
        return [path.name]
    return list(vectors(path))


def test_vector(vector: Vector | str) -> None:
    """The simulator does what TiCDC did."""
    if isinstance(vector, str):
        pytest.fail(f"nothing here runs {vector}: its kind or release is not done yet")
    KINDS[kind(Path(vector.file))].run(vector)
