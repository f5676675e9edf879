"""What differs between TiCDC's releases: one field for each behaviour, which names the releases that have each value.

Code reads a field (`release.short_control_escapes`) and never compares names of releases. Verified at every tag of tiflow
(pkg/filter, cdc/changefeed.go, cdc/owner, cdc/model/sink.go, cdc/sink/codec, pkg/sink/codec) and ticdc (pkg/filter,
pkg/binlog-filter, pkg/sink/codec, pkg/common/event, logservice/schemastore).
"""

from __future__ import annotations

from simulator.releases.release import DEFAULT, RELEASES, Release, find

V8_5 = find(DEFAULT)
"""The default release."""
