"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test each.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import given_cases
from support.vectors.checks import KINDS
from support.vectors.files import DEFAULT, files, kind, of_unknown_release, vectors

SHOWN = 10
"""Failed vectors of one file that a failing test shows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given_cases.parametrize(metafunc, "path", DEFAULT, files, lambda path: path.name, ".*")


def test_the_simulator_does_what_ticdc_did(path: Path) -> None:
    """Each vector of the file holds; those that fail are shown by name."""
    if kind(path) not in KINDS or of_unknown_release(path):
        pytest.fail(f"nothing here runs {path.name}: its kind or release is not done yet")
    failures: list[BaseException] = []
    cases = list(vectors(path))
    for vector in cases:
        try:
            KINDS[kind(path)].run(vector)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(vector.name)
            failures.append(error)
    assert cases, f"{path.name} is empty"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} vectors failed", failures[:SHOWN])
