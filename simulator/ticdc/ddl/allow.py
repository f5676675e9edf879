"""Whether a statement is replicated at all: by its type, and by the keys of the table it is about.

One law: rows without a key cannot be replayed, so that a table without a valid index (a primary key, or a unique key
whose columns are all NOT NULL and not virtual) is replicated with force-replicate only. The table's name is the
business of `filters`.
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
"""TiCDC's words, its spelling too (tiflow v8.5.3 cdc/puller/ddl_puller.go)."""


def allowed(code: int, release: Release) -> bool:
    """Whether statements of that action type are replicated by the release: its allow-list."""
    return code in release.allowed_ddl


def eligible(table: Table | None, force_replicate: bool) -> bool:
    """Whether rows of the table are replicated; None is a view, which has none to lose."""
    return table is None or force_replicate or bool(handle_key(table))


def eligibility(
    before: Table | None, after: Table | None, force_replicate: bool, release: Release, query: str = ""
) -> Verdict:
    """Whether a DDL that makes `after` of `before` is sent.

    `before` is None where TiCDC knows no such table (it is being created, or was filtered out), `after` where there is
    none any more; both are for views. Raises DdlError CDC:ErrOwnerUnknown where TiCDC stops: the statement takes the
    table's last valid index away (Release.eligibility `error`).
    """
    kept = before is None or eligible(before, force_replicate), eligible(after, force_replicate)
    return _RULES[release.eligibility](before, kept, after, query)


def _stays(before: Table | None, kept: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """What was ineligible stays so until it is dropped, which is sent."""
    return "send" if after is None or all(kept) else "skip"


def _after(before: Table | None, kept: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """The table after the statement decides; one that is gone is not ineligible."""
    return "send" if kept[1] else "skip"


def _error(before: Table | None, kept: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """So, but a table may not become ineligible."""
    if not kept[1] and before is not None and kept[0]:
        raise DdlError(INELIGIBLE.format(query=query), "CDC:ErrOwnerUnknown")
    return _after(before, kept, after, query)


def _silent(before: Table | None, kept: tuple[bool, bool], after: Table | None, query: str) -> Verdict:
    """So, but a table that is dropped is asked for the keys it had."""
    return "send" if (kept[0] if after is None else kept[1]) else "skip"


_RULES: dict[str, Callable[[Table | None, tuple[bool, bool], Table | None, str], Verdict]] = {
    "stays": _stays,
    "after": _after,
    "error": _error,
    "silent": _silent,
}
