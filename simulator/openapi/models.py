"""What the API says of the server, of a changefeed and of its tables (tiflow v8.5.3 and ticdc v8.5.7: api/v2/model.go).

Answers are as TiCDC's gin writes them: JSON in Go's form, and errors with TiCDC's codes and their status of HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from starlette.responses import Response

from simulator import tso
from simulator.changefeeds.served import RunningError, ServedChangefeed
from simulator.changefeeds.spec import ChangefeedSpec, text_of
from simulator.errors import ChangefeedError, CodedError, DeliveryError, SimulatorError, mask_secrets
from simulator.files import parse_toml
from simulator.openapi.replica_config import Document, document_of, masked_uri, shown_document
from simulator.releases import Release
from simulator.run.plan.versions import TableVersions
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.ddl import is_eligible
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Table

CAPTURE_ID = "6b1f2c30-8d4e-4a5b-9c6d-7e8f90a1b2c3"
"""The id of the only capture. TiCDC makes a new one at each start."""

CLUSTER_ID = "default"
UPSTREAM_ID = 7365923451278490122
"""The id of the simulated TiDB cluster, which PD draws at random."""

ADMIN_JOBS = {"stopped": 1, "failed": 1, "finished": 4}
"""The last job of a changefeed in a state (tiflow v8.5.3: cdc/owner/feed_state_manager.go patchState)."""

QUIET = frozenset(("normal", "stopped", "finished"))
"""States in which no error is told (shouldShowRunningError)."""

LISTED = frozenset(("normal", "stopped", "failed", "warning"))
"""States that are listed without a state filter (FeedState.IsNeeded)."""


def common_info(feed: ServedChangefeed, release: Release) -> dict[str, Any]:
    """Return the ChangefeedCommonInfo of a list."""
    return {
        **_names(feed, release),
        "state": feed.state,
        "checkpoint_tso": feed.checkpoint_ts,
        "checkpoint_time": json_time(tso.physical(feed.checkpoint_ts), zone(feed)),
        "error": running_error(feed.error, zone(feed)) if feed.error is not None and feed.state not in QUIET else None,
    }


def _names(feed: ServedChangefeed, release: Release) -> dict[str, Any]:
    spec = feed.spec
    if release.api_keyspaces:
        return {"upstream_id": UPSTREAM_ID, "id": spec.name, "keyspace": spec.namespace}
    return {"upstream_id": UPSTREAM_ID, "namespace": spec.namespace, "id": spec.name}


def detail(
    feed: ServedChangefeed, release: Release, address: str, tables: Iterable[int] | None = None
) -> dict[str, Any]:
    """Return the ChangeFeedInfo of a changefeed; `tables` are the ids of those that its task has, None for no task."""
    spec, error = feed.spec, feed.error if feed.state not in QUIET else None
    told = _names(feed, release)
    told |= {"sink_uri": masked_uri(spec.sink_uri), "create_time": go_time(feed.create_time_ms, zone(feed))}
    told |= {"start_ts": spec.start_ts} | ({"target_ts": spec.target_ts} if spec.target_ts else {})
    if not release.api_keyspaces and feed.state in ADMIN_JOBS:
        told["admin_job_type"] = ADMIN_JOBS[feed.state]
    told |= {"config": shown_document(document(feed, release), release), "state": feed.state}
    if error is not None:
        told["error"] = running_error(error, NO_TIME if release.api_keyspaces else None)
    told["creator_version"] = release.name
    told["resolved_ts"] = feed.checkpoint_ts if release.api_keyspaces else feed.resolved_ts
    told |= {
        "checkpoint_ts": feed.checkpoint_ts,
        "checkpoint_time": json_time(tso.physical(feed.checkpoint_ts), zone(feed)),
    }
    if release.api_keyspaces:
        return told | {"gid": gid(spec.id), "maintainer_addr": address}
    if tables is not None:
        ids = sorted(tables)
        told["task_status"] = [{"capture_id": CAPTURE_ID} | ({"table_ids": ids} if ids else {})]
    return told


def created(feed: ServedChangefeed, release: Release, address: str) -> dict[str, Any]:
    """Return the ChangeFeedInfo of a new changefeed: it is at its start-ts."""
    start_ts = feed.spec.start_ts
    begins = {"state": "normal", "resolved_ts": start_ts, "checkpoint_ts": start_ts}
    return {
        **detail(feed, release, address),
        **begins,
        "checkpoint_time": json_time(tso.physical(start_ts), zone(feed)),
    }


def document(feed: ServedChangefeed, release: Release) -> Document:
    """Return the configuration of a changefeed."""
    told = document_of(parse_toml(feed.changefeed.config), release, feed.spec.sink_uri)
    if feed.spec.ignores_ineligible_tables:
        told["ignore_ineligible_table"] = True
    return told


def changefeed_status(feed: ServedChangefeed, release: Release) -> dict[str, Any]:
    """Return the ChangefeedStatus."""
    resolved_ts = feed.checkpoint_ts if release.api_keyspaces else feed.resolved_ts
    told = {"state": feed.state, "resolved_ts": resolved_ts, "checkpoint_ts": feed.checkpoint_ts}
    if feed.error is not None and tso.physical(feed.checkpoint_ts) < feed.error.time_ms:
        if feed.state in ("failed", "warning"):
            told["last_error" if feed.state == "failed" else "last_warning"] = running_error(feed.error, zone(feed))
    return told


def running_error(error: RunningError, time: ZoneInfo | str | None) -> Mapping[str, Any]:
    """Return the RunningError with its time in a zone, with another time, or without one."""
    told = {"addr": "", "code": error.code, "message": error.message}
    if time is None:
        return told
    return {"time": time if isinstance(time, str) else go_time(error.time_ms, time), **told}


NO_TIME = "0001-01-01T00:00:00Z"
"""Go's zero of a time."""


def server_status(release: Release, process: int) -> dict[str, Any]:
    """Return the ServerStatus."""
    return {
        "version": release.name,
        "git_hash": "",
        "id": CAPTURE_ID,
        "cluster_id": CLUSTER_ID,
        "pid": process,
        "is_owner": True,
        "liveness": 0,
    }


def capture(address: str) -> dict[str, Any]:
    """Return the Capture."""
    return {"id": CAPTURE_ID, "is_owner": True, "address": address, "cluster_id": CLUSTER_ID}


def listed(items: list[Any]) -> dict[str, Any]:
    """Return the ListResponse."""
    return {"total": len(items), "items": items}


def gid(name: str) -> dict[str, int]:
    """Return an id of 128 bits, which is the same for the same name; that of TiCDC is random."""
    number = int.from_bytes(name.encode()[-16:].rjust(16, b"\x01"), "big")
    return {"low": number & (1 << 64) - 1, "high": number >> 64}


def zone(feed: ServedChangefeed) -> ZoneInfo:
    """Return the time zone of TiCDC's servers, in which they tell times."""
    return ZoneInfo(feed.changefeed.codec.time_zone or "UTC")


def go_time(milliseconds: int, zone: ZoneInfo) -> str:
    """Return a time as Go's time.Time writes it: RFC 3339 without zeros at the end of the seconds."""
    moment = datetime.fromtimestamp(milliseconds // 1000, zone).isoformat()
    fraction = f".{milliseconds % 1000:03}".rstrip("0.")
    return f"{moment[:19]}{fraction}{moment[19:].replace('+00:00', 'Z')}"


def json_time(milliseconds: int, zone: ZoneInfo) -> str:
    """Return a time as TiCDC's JSONTime writes it."""
    return f"{datetime.fromtimestamp(milliseconds // 1000, zone):%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


def processor(spec: ChangefeedSpec) -> dict[str, Any]:
    """Return the ProcessorCommonInfo of a changefeed."""
    return {"namespace": spec.namespace, "changefeed_id": spec.name, "capture_id": CAPTURE_ID}


def synced_status(
    feed: ServedChangefeed, release: Release, now_ms: int, intervals: Mapping[str, int]
) -> dict[str, Any]:
    """Return the SyncedStatus; `intervals` are those of the configuration, in seconds."""
    checkpoint_ms, resolved_ms = tso.physical(feed.checkpoint_ts), tso.physical(feed.resolved_ts)
    last_ms = tso.physical(feed.last_synced_ts)
    idle = now_ms - last_ms > intervals["synced_check_interval"] * 1000
    most_ms = intervals["checkpoint_interval"] * 1000
    is_synced = idle and now_ms - checkpoint_ms < most_ms
    info = SYNCED[release.api_keyspaces] if is_synced else NOT_SYNCED
    if idle and not is_synced and resolved_ms - checkpoint_ms < most_ms:
        info = UNHEALTHY.format(GRAFANA * (not release.api_keyspaces))
    return {
        "synced": is_synced,
        "sink_checkpoint_ts": json_time(checkpoint_ms, zone(feed)),
        "puller_resolved_ts": json_time(resolved_ms, zone(feed)),
        "last_synced_ts": json_time(last_ms, zone(feed)),
        "now_ts": json_time(now_ms // 1000 * 1000, zone(feed)),
        "info": info,
    }


SYNCED = ("Data syncing is finished", "The data syncing is finished")
"""Of the classic and of the new architecture."""

NOT_SYNCED = "The data syncing is not finished, please wait"
UNHEALTHY = (
    "Please check whether PD is online and TiKV Regions are all available. If PD is offline or some TiKV regions are not "
    "available, it means that the data syncing process is complete. {}If the gap is large, such as a few minutes, it "
    "means that some regions in TiKV are unavailable. Otherwise, if the gap is small and PD is online, it means the data "
    "syncing is incomplete, so please wait"
)
GRAFANA = (
    "To check whether TiKV regions are all available, you can view 'TiKV-Details' > 'Resolved-Ts' > 'Max Leader Resolved "
    "TS gap' on Grafana. "
)


@dataclass(frozen=True)
class Verified:
    """The tables of a TiDB, as a filter sees them, with their ids."""

    ineligible: Sequence[tuple[int, Table]]
    eligible: Sequence[tuple[int, Table]]

    def shown(self, all_tables: bool) -> dict[str, Any]:
        """Return the Tables of an answer: without lists that are empty."""
        lists = {"ineligible_tables": self.ineligible, "eligible_tables": self.eligible}
        if all_tables:
            lists["all_tables"] = sorted([*self.ineligible, *self.eligible], key=lambda each: each[0])
        return {name: list(map(_shown, tables)) for name, tables in lists.items() if tables}


def _shown(numbered: tuple[int, Table]) -> dict[str, Any]:
    number, table = numbered
    return {
        "database_name": table.schema,
        "table_name": table.name,
        "table_id": number,
        "is_partition": table.partitioning is not None,
    }


def verified_tables(changefeed: Changefeed, release: Release, catalog: Catalog) -> Verified:
    """Return the tables that a changefeed's filter passes, with the ids that a new changefeed knows them by. Raises ChangefeedError for a rule that TiCDC rejects."""
    rules = changefeed_rules(changefeed, release)
    versions = TableVersions()
    numbered = [(versions.table_id(versions.first(table)), table) for table in catalog.tables.values()]
    passed = [(number, table) for number, table in numbered if rules.replicates(table)]
    return Verified(
        [each for each in passed if not is_eligible(each[1], False)],
        [each for each in passed if is_eligible(each[1], False)],
    )


def replicated_ids(feed: ServedChangefeed) -> list[int]:
    """Return the ids of the tables that a changefeed replicates."""
    return sorted(feed.live.table_ids.values())


HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What Go's encoding/json escapes in texts."""


def answer(document: Any, status: int = 200, indented: bool = False) -> Response:
    """Return a document as an answer; TiCDC indents some."""
    separators = (",", ": ") if indented else (",", ":")
    text = json.dumps(document, ensure_ascii=False, separators=separators, indent=4 if indented else None)
    content = text.translate(HTML).encode("utf-8", "replace")
    return Response(content, status, {"content-type": "application/json; charset=utf-8"})


BAD_REQUESTS = (
    "ErrAPIInvalidParam",
    "ErrSinkURIInvalid",
    "ErrStartTsBeforeGC",
    "ErrChangeFeedNotExists",
    "ErrTargetTsBeforeStartTs",
    "ErrTableIneligible",
    "ErrFilterRuleInvalid",
    "ErrChangefeedUpdateRefused",
    "ErrMySQLConnectionError",
    "ErrMySQLInvalidConfig",
    "ErrCaptureNotExist",
    "ErrSchedulerRequestFailed",
)
"""Errors whose status is 400, also inside of others; that of all others is 500 (tiflow v8.5.3: cdc/api/util.go)."""

INVALID = "CDC:ErrAPIInvalidParam"


def invalid(text: str) -> ChangefeedError:
    """Return the error of a parameter that TiCDC refuses in words of its own."""
    return ChangefeedError(text, INVALID)


def invalid_body(error: Exception) -> ChangefeedError:
    """Return the error of a body that TiCDC cannot read."""
    return ChangefeedError(f"invalid api parameter: {error}", INVALID)


def error_answer(error: SimulatorError) -> Response:
    """Return the answer for an error."""
    code = _code(error)
    text = mask_secrets(text_of(error) if isinstance(error, CodedError) and error.code else f"[{code}]{error}")
    bad = any(f"CDC:{name}" in text for name in BAD_REQUESTS)
    return answer({"error_msg": text, "error_code": code}, 400 if bad else 500, indented=True)


def _code(error: SimulatorError) -> str:
    """Return TiCDC's code; of an error that only the simulator has, that of a wrong parameter."""
    if isinstance(error, CodedError) and error.code:
        return error.code
    return "CDC:ErrKafkaNewProducer" if isinstance(error, DeliveryError) else INVALID


def refusal(code: str, text: str, status: int) -> Response:
    """Return the answer of the simulator's own refusals, in TiCDC's form."""
    return answer({"error_msg": f"[{code}]{text}", "error_code": code}, status, indented=True)
