"""Hidden directories that grow beside the place of what they become, and are moved there when they are whole.

One law: what a process left that was killed is cleared away by the next one with the same place; a lock tells which
process lives.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

MARK = ".ticdc-sim-"
"""In the name of each, so that nothing else is taken for one."""

_LOCKS: dict[Path, int] = {}
"""By directory, the open file whose lock says that this process lives."""


def make(final: Path) -> Path:
    """A new one beside that place; raises OSError."""
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear(final)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f".{final.name}{MARK}", dir=final.parent))
        number = _locked(made)
        if made.exists():  # nobody cleared it away before it was locked
            os.chmod(made, 0o777 & ~_umask())
            if number is not None:
                _LOCKS[made] = number
            return made
        if number is not None:
            os.close(number)


def put_in_place(final: Path, staging: Path) -> None:
    """Two renames put the new directory in place of the old; where the process dies between them, the next one puts the
    old one back."""
    old = staging.with_name(f"{staging.name}.old")
    if final.exists():
        final.rename(old)
    staging.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    _release(staging)


def discard(staging: Path) -> None:
    """Removes it; who still writes there finds it gone."""
    gone = staging
    with suppress(OSError):
        gone = staging.rename(staging.with_name(f"{staging.name}.gone"))
    shutil.rmtree(gone, ignore_errors=True)
    _release(staging)


def _clear(final: Path) -> None:
    """Removes what dead processes left, or puts it back where it was what stood there before."""
    ours = re.compile(rf"{re.escape(f'.{final.name}{MARK}')}[a-z0-9_]+(\.gone|\.old)?")
    for path in [path for path in final.parent.iterdir() if ours.fullmatch(path.name)]:
        number = _locked(path)
        if number is None:
            continue
        if path.suffix == ".old" and not final.exists():
            with suppress(OSError):
                path.rename(final)
        else:
            shutil.rmtree(path, ignore_errors=True)
        os.close(number)


def _locked(path: Path) -> int | None:
    """The open directory, locked; None where another process has it, and where there are no locks."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def _release(staging: Path) -> None:
    number = _LOCKS.pop(staging, None)
    if number is not None:
        os.close(number)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
