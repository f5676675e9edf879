"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test a vector.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vectors import allow as vector_allow
from support.vectors import changefeed as vector_changefeed
from support.vectors import codecs as vector_codecs
from support.vectors import ddl_statements as vector_ddl_statements
from support.vectors import ddl_text as vector_ddl_text
from support.vectors import dispatch as vector_dispatch
from support.vectors import envelopes as vector_envelopes
from support.vectors import event_filter as vector_event_filter
from support.vectors import filters as vector_filters
from support.vectors import large as vector_large
from support.vectors import literals as vector_literals
from support.vectors import rename as vector_rename
from support.vectors import schema as vector_schema
from support.vectors import split as vector_split
from support.vectors.files import DEFAULT, Vector, files, kind, of_unknown_release, vectors
from support.vectors.keys import Kind

MODULES = (
    vector_allow, vector_changefeed, vector_codecs, vector_ddl_statements, vector_ddl_text, vector_dispatch,
    vector_envelopes, vector_event_filter, vector_filters, vector_large, vector_literals, vector_rename, vector_schema,
    vector_split)
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
