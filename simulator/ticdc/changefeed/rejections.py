"""TiCDC's checks when a changefeed is created, before it connects to Kafka.

Order, codes and texts are those of tiflow v8.5.3 pkg/config/sink.go, replica_config.go, large_message.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from simulator.errors import ChangefeedError, did_you_mean, uri_without_secrets
from simulator.releases import option_names
from simulator.ticdc.changefeed import encoder, protocols, storage, toml_file
from simulator.ticdc.changefeed.keys import GLUE, KEYS, STORAGE_SCHEMES, Value
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings

QUEUES = ("kafka", "kafka+ssl", "pulsar", "pulsar+ssl", "pulsar+http", "pulsar+https")
DATABASES = ("mysql", "mysql+ssl", "tidb", "tidb+ssl")
NO_SYNC_POINTS = {
    "stops": ("CDC:ErrSinkURIInvalid", "the sink scheme ({scheme}) is not supported"),
    # the words run together there, too
    "refused": ("CDC:ErrSinkURIInvalid", "sink uri scheme is not supported with syncpoint enabledsink uri: {uri}"),
    "hangs": ("", "enable-sync-point: TiCDC's {scheme} sink never ends a sync point there, so that nothing is sent"),
}
"""Code and text of a changefeed with sync points whose sink is no database, by `Release.sync_point_refusal`."""

MAX_BATCH = 8192
"""MaxEventCollectorBatchCount."""

ROUTE = re.compile(r"(?:[^{}]|\{schema\}|\{table\})*")
"""A valid target of table routing (ticdc v8.5.7: pkg/config/sink.go)."""


def reject(settings: ChangefeedSettings) -> None:
    """Raise ChangefeedError for the first setting that TiCDC rejects."""
    for check in CHECKS:
        check(settings)


def _atomicity(settings: ChangefeedSettings) -> None:
    level, scheme = settings.text("transaction-atomicity"), settings.uri.scheme
    if level not in ("", "none") and (level != "table" or scheme in QUEUES):
        text = f"{level} level atomicity is not supported by {scheme} scheme"
        raise ChangefeedError(f"sink uri invalid '{text}'", "CDC:ErrSinkURIInvalid")


def _protocol(settings: ChangefeedSettings) -> None:
    scheme, protocol = settings.uri.scheme, settings.get("protocol")
    if scheme in DATABASES and protocol is not None:
        text = f"protocol {protocol} is incompatible with {scheme} scheme"
        raise ChangefeedError(f"sink uri invalid '{text}'", "CDC:ErrSinkURIInvalid")
    if scheme in QUEUES or scheme in STORAGE_SCHEMES:
        protocols.protocol(settings)


def _table_routes(settings: ChangefeedSettings) -> None:
    for rule in rows(settings, "sink", "dispatchers"):
        for name in ("target-schema", "target-table"):
            target = str(rule.get(name, ""))
            if not ROUTE.fullmatch(target):
                text = f"{name} {json.dumps(target, ensure_ascii=False)} must contain only literal text, "
                raise ChangefeedError(text + "{schema}, and {table}", "CDC:ErrInvalidTableRoutingRule")


def _large_message(settings: ChangefeedSettings) -> None:
    # only the URI's enable-tidb-extension counts here, not the file's (tiflow v8.5.3: pkg/config/sink.go)
    extension = bool(settings.parameters.get("enable-tidb-extension"))
    encoder.check_large_messages(settings, extension)


def _registries(settings: ChangefeedSettings) -> None:
    if GLUE not in settings.file.tables:
        return
    if settings.file.values.get(("sink", "schema-registry")) is not None:
        raise encoder.replica_config_error(
            "schema-registry and glue-schema-registry-configcannot be set at the same time,schema-registry is used by"
            " confluent schema registry, glue-schema-registry-config is used by aws glue schema registry"
        )
    glue = {name: settings.file_value(GLUE, name) for name in KEYS[GLUE]}
    for name in ("registry-name", "region"):
        if not glue[name]:
            raise ChangefeedError(f"{name} is empty, is must be set", "CDC:ErrInvalidGlueSchemaRegistryConfig")
    if glue["access-key"] and not glue["secret-access-key"]:
        text = "access-key is set, but access-key-secret is empty, they must be set together"
        raise ChangefeedError(text, "CDC:ErrInvalidGlueSchemaRegistryConfig")


def _dispatchers(settings: ChangefeedSettings) -> None:
    for rule in rows(settings, "sink", "dispatchers"):
        if rule.get("dispatcher") and rule.get("partition"):
            names = ["matcher", "dispatcher", "partition", "index", "columns", "topic"]
            if option_names.TABLE_ROUTES <= settings.release.options:
                names += ["target-schema", "target-table"]
            shown = " ".join(_go(rule.get(name, [] if name in ("matcher", "columns") else "")) for name in names)
            raise storage.sink_error(f"dispatcher and partition cannot be configured both for rule:&{{{shown}}}")


def _encoder_and_storage(settings: ChangefeedSettings) -> None:
    concurrency = settings.file_value("sink", "encoder-concurrency")
    if isinstance(concurrency, int) and concurrency < 0:
        raise storage.sink_error(f"encoder-concurrency should greater than 0, but got {concurrency}")
    protocol = protocols.protocol_or_none(settings)
    refusal = protocol and protocol.refusals.get("sink.delete-only-output-handle-key-columns")
    if refusal and settings.file_value("sink", "delete-only-output-handle-key-columns"):
        raise storage.sink_error(refusal)
    if storage.is_storage(settings):
        storage.check(settings)


def _sync_points(settings: ChangefeedSettings) -> None:
    # tiflow v8.5.4 and ticdc v8.5.4 pkg/config/replica_config.go ValidateAndAdjust
    if not settings.file_value("(top level)", "enable-sync-point"):
        return
    if settings.release.sync_point_refusal == "invalid" and settings.uri.scheme not in DATABASES:
        raise _replica("The SyncPoint must be disabled when the downstream is not tidb or mysql")
    for what, least in (("Interval", 30), ("Retention", 3600)):
        duration = settings.file_value("(top level)", f"sync-point-{what.lower()}")
        seconds = toml_file.parse_duration(duration) if isinstance(duration, str) else least
        if seconds < least:
            shown, limit = toml_file.show_duration(seconds), toml_file.show_duration(least)
            raise _replica(f"The SyncPoint{what}:{shown} must be larger than {limit}")


def _database_alone(settings: ChangefeedSettings) -> None:
    scheme, shown = settings.uri.scheme, uri_without_secrets(settings.uri.text)
    if scheme in DATABASES:
        return
    if settings.file_value("(top level)", "enable-sync-point"):
        code, text = NO_SYNC_POINTS[settings.release.sync_point_refusal]
        raise ChangefeedError(text.format(scheme=scheme, uri=shown), code)
    if settings.file_value("(top level)", "bdr-mode") and settings.release.refuses_bdr_mode:
        text = f"sink uri scheme is not supported in BDR mode, sink uri: {shown}"
        raise ChangefeedError(text, "CDC:ErrSinkURIInvalid")


def _integrity(settings: ChangefeedSettings) -> None:
    level = settings.file_value("integrity", "integrity-check-level")
    handling = settings.file_value("integrity", "corruption-handle-level")
    if level not in ("none", "correctness") or handling not in ("warn", "error"):
        accepted = "integrity-check-level none or correctness, corruption-handle-level warn or error"
        raise _replica(f"{level}, {handling}; accepted: {accepted}")
    if level == "correctness" and settings.file_value("sink", "column-selectors"):
        raise encoder.replica_config_error("integrity check enabled and column selector set, not allowed")


def _stuck_duration(settings: ChangefeedSettings) -> None:
    duration = settings.file_value("(top level)", "changefeed-error-stuck-duration")
    seconds = toml_file.parse_duration(duration) if isinstance(duration, str) else int(str(duration)) / 1e9
    if seconds < 1800:
        text = f"The ChangefeedErrorStuckDuration:{seconds:f} must be larger than 1800.000000 Seconds"
        raise _replica(text)


def _batches(settings: ChangefeedSettings) -> None:
    # ticdc release-8.5 pkg/config/replica_config.go ValidateAndAdjust; its text does not get the limit
    count, size = (settings.file_value("(top level)", f"event-collector-batch-{what}") for what in ("count", "bytes"))
    for what, value in (("count", count), ("bytes", size)):
        if isinstance(value, int) and value < 0:
            raise _replica(f"event-collector-batch-{what} must be set not smaller than 0")
    if isinstance(count, int) and count > MAX_BATCH:
        text = "event-collector-batch-count must be set not larger than "
        raise _replica(f"{text}%d%!(EXTRA int={MAX_BATCH})")


SPAN_LIMITS: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "region-threshold": (lambda value: value >= 0, "larger than 0"),
    "write-key-threshold": (lambda value: value >= 0, "larger than 0"),
    "split-number-per-node": (lambda value: value > 0, "larger than 0"),
    "scheduling-task-count-per-node": (lambda value: value >= 0, "larger than 0"),
    "region-count-per-span": (lambda value: value > 0, "larger than 0"),
    "region-count-refresh-interval": (lambda value: value > 0, "larger than 0"),
    "balance-score-threshold": (lambda value: value > 0, "larger than 0"),
    "min-traffic-percentage": (lambda value: 0 < value < 1, "between 0 and 1"),
    "max-traffic-percentage": (lambda value: value > 1, "greater than 1"),
}
"""Which values of `[scheduler]` TiCDC takes, and what it says to others (pkg/config/scheduler_config.go)."""


def _active_active(settings: ChangefeedSettings) -> None:
    # ticdc v26.3.1 pkg/config/replica_config.go ValidateAndAdjust
    if not option_names.ACTIVE_ACTIVE <= settings.release.options:
        return
    for name, least, limit in (
        ("progress-interval", 1, "larger than 0"),
        ("sync-stats-interval", 0, "larger than or equal to 0"),
    ):
        value = settings.file.values.get(("(top level)", f"active-active-{name}"))
        number = toml_file.parse_duration(value) * 1e9 if isinstance(value, str) else value
        if isinstance(number, int | float) and number < least:
            raise _replica(f"the active-active-{name} must be {limit}")
    if not settings.file_value("(top level)", "enable-active-active"):
        return
    if not settings.file_value("(top level)", "bdr-mode"):
        raise _replica("enable-active-active requires bdr-mode to be true")
    if settings.uri.scheme not in (*DATABASES, *STORAGE_SCHEMES):
        raise _replica("enable-active-active only supports tidb sink and storage sink")
    if settings.file_value("consistent", "level") not in (None, "", "none"):
        raise _replica("enable-active-active is incompatible with redo log/consistency feature, please disable redo")


def _spans(settings: ChangefeedSettings) -> None:
    if not settings.file_value("scheduler", "enable-table-across-nodes"):
        return
    for name, (accepts, limit) in SPAN_LIMITS.items():
        value = settings.file.values.get(("scheduler", name))
        number = toml_file.parse_duration(value) if isinstance(value, str) else value
        if isinstance(number, int | float) and not accepts(number):
            raise ChangefeedError(f"{name} must be {limit}")


def _events(settings: ChangefeedSettings) -> None:
    names = settings.release.event_filter_names
    for rule in filter_rows(settings):
        ignored = rule.get("ignore-event", [])
        for name in ignored if isinstance(ignored, list) else []:
            if name not in names:
                text = f"invalid ignore event type: '{name}'"
                raise ChangefeedError(f"{text}{did_you_mean(str(name), names)}", "CDC:ErrInvalidIgnoreEventType")


def rows(settings: ChangefeedSettings, place: str, name: str) -> list[Mapping[str, Value]]:
    """Return the entries of an array of tables in the file."""
    value = settings.file_value(place, name)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def filter_rows(settings: ChangefeedSettings) -> list[Mapping[str, Value]]:
    """Return the event filters, if the release has any."""
    return rows(settings, "filter", "event-filters") if settings.release.event_filter_names else []


def _go(value: object) -> str:
    return f"[{' '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _replica(text: str) -> ChangefeedError:
    return encoder.replica_config_error(f"invalid replica config, {text}")


CHECKS: tuple[Callable[[ChangefeedSettings], None], ...] = (
    *(_atomicity, _protocol, _table_routes, _large_message, _registries, _dispatchers),
    *(_encoder_and_storage, _sync_points),
    *(_integrity, _stuck_duration, _active_active, _spans, _batches, _events, _database_alone),
)
