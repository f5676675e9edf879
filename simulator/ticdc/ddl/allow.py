"""Whether a DDL statement is replicated: by its action type, and by the keys of its table.

Rows without a key cannot be replayed. A table without a valid index (a primary key, or a unique key whose columns are
all NOT NULL and not virtual) is replicated with force-replicate only. `filters` checks the table's name.
"""

from __future__ import annotations

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table

INELIGIBLE = (
    "An eligible table become ineligible after DDL: [{query}] it is a dangerous operation and may cause data loss. If "
    "you want to replicate this ddl safely, pelase pause the changefeed and update the `force-replicate=true` in the "
    "changefeed configuration, then resume the changefeed."
)
"""TiCDC's text, with its spelling (tiflow v8.5.3 cdc/puller/ddl_puller.go)."""


def is_eligible(table: Table | None, force_replicate: bool) -> bool:
    """Return whether rows of the table are replicated; None is a view."""
    return table is None or force_replicate or bool(handle_key(table))


def is_sent(
    before: Table | None, after: Table | None, force_replicate: bool, release: Release, query: str = ""
) -> bool:
    """Return whether a DDL that changes `before` into `after` is sent.

    `before` is None if TiCDC knows no such table (it is being created, or was filtered out), `after` if the table is
    dropped; both are for views. Raise DdlError CDC:ErrOwnerUnknown if TiCDC stops because the statement removes the
    table's last valid index (Release.eligibility `error`).
    """
    was = before is None or is_eligible(before, force_replicate)
    stays = is_eligible(after, force_replicate)
    match release.eligibility:
        case "stays":  # an ineligible table stays so until it is dropped; the drop is sent
            sent = after is None or was and stays
        case "silent":  # a dropped table needs a valid index
            sent = was if after is None else stays
        case "after" | "error" as rule:  # the table after the statement decides; a dropped one counts as eligible
            if rule == "error" and not stays and before is not None and was:
                raise DdlError(INELIGIBLE.format(query=query), "CDC:ErrOwnerUnknown")
            sent = stays
        case other:
            raise ValueError(f"unknown eligibility {other!r}")
    return sent
