"""The text TiCDC sends for a job's query, by release: as typed, with TiDB's features marked, or read and written back.

One law: the text goes through here once, after statements that TiCDC rebuilds have been rebuilt.
"""

from __future__ import annotations

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.mark_text import marked
from simulator.tidb.parser.read import read_statements
from simulator.tidb.restore.restore import restored


def sent_text(query: str, release: Release, charset: str = "") -> str:
    """The text that release sends for the query of a job; empty where nothing is left of it.

    `charset` is the job's, utf8mb4 if empty: the introducer of strings in releases that look at it. Raises DdlError as
    TiCDC stops: `parser:1064` for text that it cannot parse, `CDC:ErrUnexpected` for several statements in classic
    TiCDC (tiflow cdc/owner/ddl_sink.go addSpecialComment; ticdc logservice/schemastore/utils.go).
    """
    if release.ddl_text == "raw":
        return query
    if release.ddl_text == "marked":
        return marked(query, release.ddl_mark)
    statements = read_statements(query, charset if release.ddl_text_charset else "")
    if len(statements) != 1 and not (statements and release.ddl_text_joined):
        raise DdlError(f"invalid ddlQuery statement size: {len(statements)} statements; one is accepted",
                       "CDC:ErrUnexpected")
    return ";".join(restored(one, release.ddl_text_placement, release.ddl_text_ttl_off) for one in statements)
