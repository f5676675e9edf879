"""Text files that a user names.

One law: what cannot be read is said with the file and the reason.
"""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError


def read_text(path: Path) -> str:
    """The whole file, as UTF-8; raises UserError."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
