"""Whether a DDL statement is replicated: by its action type, and by the keys of its table.

Rows without a key cannot be replayed. A table without a valid index (a primary key, or a unique key whose columns are
all NOT NULL and not virtual) is replicated with force-replicate only. `filters` checks the table's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table

Verdict = Literal["send", "skip"]

INELIGIBLE = (
    "An eligible table become ineligible after DDL: [{query}] it is a dangerous operation and may cause data loss. If "
    "you want to replicate this ddl safely, pelase pause the changefeed and update the `force-replicate=true` in the "
    "changefeed configuration, then resume the changefeed."
)
"""TiCDC's text, with its spelling (tiflow v8.5.3 cdc/puller/ddl_puller.go)."""


def is_allowed(code: int, release: Release) -> bool:
    """Return whether the release's allow-list has the action type."""
    return code in release.allowed_ddl


def is_eligible(table: Table | None, force_replicate: bool) -> bool:
    """Return whether rows of the table are replicated; None is a view."""
    return table is None or force_replicate or bool(handle_key(table))


def eligibility_verdict(
    before: Table | None, after: Table | None, force_replicate: bool, release: Release, query: str = ""
) -> Verdict:
    """Return whether a DDL that changes `before` into `after` is sent.

    `before` is None if TiCDC knows no such table (it is being created, or was filtered out), `after` if the table is
    dropped; both are for views. Raise DdlError CDC:ErrOwnerUnknown if TiCDC stops because the statement removes the
    table's last valid index (Release.eligibility `error`).
    """
    were_eligible = before is None or is_eligible(before, force_replicate), is_eligible(after, force_replicate)
    return _RULES[release.eligibility](before, were_eligible, after, query)


def _stays(before: Table | None, were_eligible: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """An ineligible table stays so until it is dropped; the drop is sent."""
    return "send" if after is None or all(were_eligible) else "skip"


def _after(before: Table | None, were_eligible: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """The table after the statement decides; a dropped table counts as eligible."""
    return "send" if were_eligible[1] else "skip"


def _error(before: Table | None, were_eligible: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """As `_after`, but a table may not become ineligible."""
    if not were_eligible[1] and before is not None and were_eligible[0]:
        raise DdlError(INELIGIBLE.format(query=query), "CDC:ErrOwnerUnknown")
    return _after(before, were_eligible, after, query)


def _silent(before: Table | None, were_eligible: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """As `_after`, but a dropped table needs a valid index."""
    return "send" if (were_eligible[0] if after is None else were_eligible[1]) else "skip"


_RULES: dict[str, Callable[[Table | None, tuple[bool, bool], Table | None, str], Verdict]] = {
    "stays": _stays,
    "after": _after,
    "error": _error,
    "silent": _silent,
}
