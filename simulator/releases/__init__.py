"""What each TiCDC release does differently. Releases are deltas: one `replace(previous, …)` per change.

Code asks a field (`release.short_control_escapes`), never the name of a release. Lines of release are chains of their
own, as TiCDC ports back: 6.5.4 has what 7.0.0 lacks.
"""

from __future__ import annotations

from simulator.releases.find import DEFAULT, RELEASES, find
from simulator.releases.release import Release

V8_5 = find(DEFAULT)
"""Where a caller says nothing."""

__all__ = ["DEFAULT", "RELEASES", "Release", "V8_5", "find"]
