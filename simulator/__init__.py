"""A producer-side simulator of TiCDC: its messages on Kafka, byte for byte, without a TiDB cluster."""

from __future__ import annotations

TYPE_CHECKING = False
"""As in `typing`, which takes longer to import than all else here."""

if TYPE_CHECKING:
    from simulator.api.session import Message, Result, TiCDC

__version__ = "0.3.0"

__all__ = ["Message", "Result", "TiCDC", "__version__"]


def __getattr__(name: str) -> object:
    """What the package gives is imported when it is asked for, so that short commands start at once."""
    if name in ("Message", "Result", "TiCDC"):
        from simulator.api import session

        return getattr(session, name)
    raise AttributeError(f"module 'simulator' has no attribute {name!r}")
