"""Hidden staging directories beside a final path, moved there when they are complete.

A lock marks directories of living processes. What a killed process left is removed by the next one with the same final
path.
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
"""Part of each name, so that nothing else is taken for a staging directory."""

_LOCKS: dict[Path, int] = {}
"""The open, locked file of each directory of this process."""


def make(final: Path) -> Path:
    """Create a staging directory beside that path; raise OSError."""
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear(final)
    while True:
        directory = Path(tempfile.mkdtemp(prefix=f".{final.name}{MARK}", dir=final.parent))
        descriptor = _lock(directory)
        if directory.exists():  # nobody cleared it away before it was locked
            os.chmod(directory, 0o777 & ~_umask())
            if descriptor is not None:
                _LOCKS[directory] = descriptor
            return directory
        if descriptor is not None:
            os.close(descriptor)


def put_in_place(final: Path, staging: Path) -> None:
    """Replace the final directory by the new one, with two renames.

    If the process dies between them, the next one restores the old directory.
    """
    old = staging.with_name(f"{staging.name}.old")
    if final.exists():
        final.rename(old)
    staging.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    _release(staging)


def discard(staging: Path) -> None:
    """Remove the staging directory; writers find it missing."""
    removed = staging
    with suppress(OSError):
        removed = staging.rename(staging.with_name(f"{staging.name}.gone"))
    shutil.rmtree(removed, ignore_errors=True)
    _release(staging)


def _clear(final: Path) -> None:
    """Remove what dead processes left, or restore a final directory that they had moved away."""
    ours = re.compile(rf"{re.escape(f'.{final.name}{MARK}')}[a-z0-9_]+(\.gone|\.old)?")
    for path in [path for path in final.parent.iterdir() if ours.fullmatch(path.name)]:
        descriptor = _lock(path)
        if descriptor is None:
            continue
        if path.suffix == ".old" and not final.exists():
            with suppress(OSError):
                path.rename(final)
        else:
            shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """Return the open directory, locked; None if another process holds the lock, or if there are no locks."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _release(staging: Path) -> None:
    descriptor = _LOCKS.pop(staging, None)
    if descriptor is not None:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
