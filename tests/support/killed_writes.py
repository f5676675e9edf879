"""A process that is killed while it writes to a storage, as far as one process can play that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from simulator.sinks.external_storage import ExternalStorage, Part


class Killed(BaseException):
    """The process is gone."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """Ends this process, as it were, instead of writing that file."""
    count, write = 0, ExternalStorage.write

    def counted(self: ExternalStorage, name: str, parts: Sequence[Part]) -> None:
        nonlocal count
        count += not name.startswith(".ticdc-sim-")
        if count > number:
            raise Killed
        write(self, name, parts)

    with monkeypatch.context() as patch:
        patch.setattr(ExternalStorage, "write", counted)
        try:
            yield
        except Killed:
            return
        raise AssertionError("the run has fewer files")
