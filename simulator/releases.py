"""What each TiCDC release does differently. Releases are deltas: one `replace(previous, …)` per change.

Code asks a field (`release.short_control_escapes`), never the name of a release.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Release:
    """The observable behaviours of one TiCDC release."""

    name: str
    architecture: str

    short_control_escapes: bool
    r"""Whether Open Protocol writes U+0008 and U+000C as `\b` and `\f` (encoding/json from Go 1.22: tiflow 8.4+)."""

    primary_is_unique: bool
    """Whether columns of the primary index also get the UniqueKey bit (tiflow before 7.5.2 and 8.0:
    cdc/model/schema_storage.go)."""

    group_by_partition_key: bool
    """Whether rows in one message share the dispatcher's partition key (tiflow 7.5+: cdc/sink/dmlsink/mq/worker.go)."""

    allowed_ddl: frozenset[int]
    """Action types that are replicated at all (`ddlWhiteListMap`, tiflow pkg/filter/filter.go)."""

    dispatch_skips_virtual: bool
    """Whether the dispatchers `columns` and `index-value` with `index` look values up among the visible columns. Where
    not (classic), they take the table's column offset, so that after a virtual generated column the value
    of a later column is hashed (cdc/model/schema_storage.go IndexByName, OffsetsByNames)."""

    canal_ddl_in_partition_0: bool
    """Whether Canal-JSON's DDL goes to partition 0 alone (tiflow 5.4+: GetDDLDispatchRuleByProtocol)."""


V8_5 = Release(
    name="v8.5.3",
    architecture="classic",
    short_control_escapes=True,
    primary_is_unique=False,
    group_by_partition_key=True,
    canal_ddl_in_partition_0=True,
    allowed_ddl=frozenset(
        {*range(1, 9), *range(11, 16), *range(17, 27), 32, 33, 37, 38, 41, 42, 47, 60, 61, 64, 65, 67, 71, 72}
    ),
    dispatch_skips_virtual=False,
)

DEFAULT = V8_5.name

RELEASES = {release.name: release for release in (V8_5,)}


def find(name: str, architecture: str = "classic") -> Release:
    """The release of that tag; raises UserError with the known ones."""
    release = RELEASES.get(name if name.startswith("v") else f"v{name}")
    if release is None:
        raise UserError(f"unknown TiCDC release {name!r}.{did_you_mean(name, RELEASES)} Known: {', '.join(RELEASES)}")
    if architecture != release.architecture:
        raise UserError(f"unknown architecture {architecture!r} for {release.name}: it has {release.architecture!r}")
    return release
