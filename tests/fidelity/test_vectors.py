"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test each.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support import given_cases
from support.vectors.checks import KINDS
from support.vectors.files import DEFAULT, Vector, files, kind, of_unknown_release, vectors
from support.vectors.kinds import Kind

SHOWN = 10
"""Failed vectors of one file that a failing test shows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given_cases.parametrize(metafunc, "path", DEFAULT, files, lambda path: path.name, ".*")


def test_the_simulator_does_what_ticdc_did(path: Path) -> None:
    """Each vector of the file holds; those that fail are shown by name."""
    if kind(path) not in KINDS or of_unknown_release(path):
        pytest.fail(f"nothing here runs {path.name}: its kind or release is not done yet")
    checks, cases = KINDS[kind(path)], list(vectors(path))
    failures = [failure for group in checks.groups(cases) for failure in failures_of(group, checks)]
    assert cases, f"{path.name} is empty"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} vectors failed", failures[:SHOWN])


def failures_of(group: Sequence[Vector], checks: Kind) -> Iterator[BaseException]:
    """Those of single vectors; that of the group where each vector holds alone."""
    try:
        checks.run_together(group)
        return
    except (Exception, pytest.fail.Exception) as error:
        together = error
    alone = 0
    for vector in group:
        try:
            checks.run(vector)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(vector.name)
            alone += 1
            yield error
    if not alone:
        together.add_note(" and ".join(vector.name for vector in group))
        yield together
