"""Behaviours of TiCDC's OpenAPI v2, by which changefeeds are created and watched."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import section

API = section("what can be asked for", "OpenAPI v2")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ApiBehaviours:
    """The paths of the API, and what it says of a changefeed."""

    api_paths: frozenset[str] = API(
        "Which methods and paths below /api/v2 there are",
        "cdc/api/v2/api.go RegisterOpenAPIV2Routes",
        "api/v2/api.go",
        elements={
            "6.2+; new": {
                "POST /changefeeds",
                "PUT /changefeeds/{changefeed_id}",
                "POST /changefeeds/{changefeed_id}/resume",
                "POST /verify_table",
                "POST /tso",
                "GET /unsafe/metadata",
                "POST /unsafe/resolve_lock",
                "DELETE /unsafe/service_gc_safepoint",
            },
            "6.2+": {"GET /changefeeds/{changefeed_id}/meta_info"},
            "6.5.2+; new": {
                "GET /health",
                "GET /status",
                "POST /log",
                "GET /changefeeds",
                "GET /changefeeds/{changefeed_id}",
                "DELETE /changefeeds/{changefeed_id}",
                "POST /changefeeds/{changefeed_id}/pause",
                "GET /captures",
                "GET /processors",
                "GET /processors/{changefeed_id}/{capture_id}",
                "POST /owner/resign",
            },
            "6.5.2+": {"POST /captures/{capture_id}/drain"},
            "6.5.3–6.5, 7.1+; new 8.5+": {"GET /changefeeds/{changefeed_id}/status"},
            "6.5.8–6.5, 7.1.4–7.1, 7.5.1+; new": {"GET /changefeeds/{changefeed_id}/synced"},
            "new": {
                "GET /changefeeds/{changefeed_id}/tables",
                "GET /changefeeds/{changefeed_id}/get_dispatcher_count",
                "POST /changefeeds/{changefeed_id}/move_table",
            },
            "new 8.5+, 9.0.0-beta.2.pre": {
                "POST /changefeeds/{changefeed_id}/move_split_table",
                "POST /changefeeds/{changefeed_id}/split_table_by_region_count",
                "POST /changefeeds/{changefeed_id}/merge_table",
            },
            "new 8.5.6+": {"POST /log/redact", "POST /get_all_tables"},
        },
    )
    api_keyspaces: bool = API(
        "Whether a changefeed has a keyspace in place of a namespace, tasks are not told, and its `resolved_ts` is its "
        "`checkpoint_ts`",
        "api/v2/model.go",
        "api/v2/changefeed.go CfInfoToAPIModel",
        when="new",
    )
