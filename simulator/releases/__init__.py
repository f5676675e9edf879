"""The differences between TiCDC's releases. Each release is a delta to the one before: `replace(previous, …)`.

Code reads a field (`release.short_control_escapes`) and never compares names of releases. Each line of releases is a
chain of its own, because TiCDC ports changes back: 6.5.4 has what 7.0.0 lacks.
"""

from __future__ import annotations

from simulator.releases.find import DEFAULT, RELEASES, find
from simulator.releases.release import Release

V8_5 = find(DEFAULT)
"""The default release."""
