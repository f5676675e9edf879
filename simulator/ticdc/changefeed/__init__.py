"""A changefeed from its sink-uri and changefeed.toml, in TiCDC's own format.

`load` returns a `Changefeed` or raises TiCDC's error. A key without effect gives a warning. The URI takes precedence
over the file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulator.errors import ChangefeedError, UserError
from simulator.files import read_text
from simulator.releases import V8_5, Release
from simulator.settings import DEFAULT_SINK_URI
from simulator.ticdc.changefeed import encoder, kafka, rejections, security, storage, toml_rules
from simulator.ticdc.changefeed.keys import STORAGE_SCHEMES, key
from simulator.ticdc.changefeed.model import (
    Changefeed,
    ColumnSelector,
    DispatchRule,
    EventFilter,
    Kafka,
    Sasl,
    Storage,
    Tls,
)
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings, parse_uri, typed_parameters, without_parameters
from simulator.ticdc.changefeed.toml_file import parse_file
from simulator.ticdc.codecs import CODECS

SCHEMES = ("kafka", "kafka+ssl")


def load(
    sink_uri: str | None,
    toml_text: str = "",
    release: Release = V8_5,
    name: str = "changefeed.toml",
    assumed: str = DEFAULT_SINK_URI,
    time_zone: str = "",
) -> Changefeed:
    """Return the changefeed. Raise ChangefeedError, with TiCDC's code and text, if TiCDC rejects it.

    `time_zone` is that of TiCDC's servers; empty for UTC, which is not named in messages.
    Without a sink-uri the `assumed` one counts, but for parameters that the file has. Table filters and topic
    expressions are checked when they are compiled: `filters.replication`, `dispatch.router`.
    """
    content = parse_file(toml_text, name, release)
    if sink_uri is None:
        sink_uri = without_parameters(assumed, content.parameters)
    parsed = parse_uri(sink_uri, release)
    try:
        settings = ChangefeedSettings(parsed, typed_parameters(parsed, release), content, release)
        rejections.reject(settings)
        _require_simulated(parsed.scheme, release)
        changefeed = replace(_changefeed(settings), sink_uri=sink_uri, config=toml_text)
        return replace(changefeed, codec=replace(changefeed.codec, time_zone=time_zone))
    except ChangefeedError as error:  # a key that is ignored may be the cause
        error.args = ("; ".join((*error.args, *parsed.warnings, *content.ignored)),)
        raise


def _require_simulated(scheme: str, release: Release) -> None:
    if scheme not in (*SCHEMES, *STORAGE_SCHEMES):
        stored = storage.SIMULATED if release.storage_sink == "files" else ()
        raise ChangefeedError(f"scheme {scheme} is not simulated; accepted: {', '.join((*SCHEMES, *stored))}")


def parse_kafka_uri(source: str) -> tuple[str, Kafka, tuple[str, ...]]:
    """Return topic, Kafka settings and warnings of `kafka://host:port/topic?…`, read as a sink-uri."""
    parsed = parse_uri(source, V8_5)
    if parsed.scheme not in SCHEMES:
        raise ChangefeedError(f"scheme {parsed.scheme} is not read; accepted: {', '.join(SCHEMES)}")
    settings = ChangefeedSettings(parsed, typed_parameters(parsed, V8_5), parse_file("", "", V8_5), V8_5)
    kafka_settings = kafka.kafka(settings)
    return (
        kafka.topic(settings),
        kafka_settings,
        (*parsed.warnings, *security.warnings(settings, kafka_settings.sasl, kafka_settings.tls)),
    )


def load_file(
    sink_uri: str | None,
    path: str | Path | None = None,
    release: Release = V8_5,
    assumed: str = DEFAULT_SINK_URI,
    time_zone: str = "",
) -> Changefeed:
    """Return the changefeed of a sink-uri and a changefeed.toml; `path` None means no file. Raises as `load` does."""
    if path is None:
        return load(sink_uri, "", release, assumed=assumed, time_zone=time_zone)
    try:
        text = read_text(Path(path))
    except UserError as error:
        raise ChangefeedError(str(error)) from error
    return load(sink_uri, text, release, str(path), assumed, time_zone)


def _changefeed(settings: ChangefeedSettings) -> Changefeed:
    force_replicate = bool(settings.file_value("(top level)", "force-replicate"))
    stored = storage.storage(settings) if storage.is_storage(settings) else None
    topic = storage.TOPIC if stored else kafka.topic(settings)
    kafka_settings = storage.workers_as_kafka(stored) if stored else kafka.kafka(settings)
    codec, dispatchers = encoder.encoder_options(settings, force_replicate), toml_rules.dispatchers(settings)
    filter_rules, ignored = settings.file_value("filter", "rules"), settings.file_value("filter", "ignore-txn-start-ts")
    ignored_ts = tuple(int(str(ts)) for ts in ignored) if isinstance(ignored, list) else ()
    warnings = [
        *settings.uri.warnings,
        *(storage.warnings(settings, stored) if stored else settings.file.warnings),
        *settings.warnings(),
        *encoder.warnings(settings, codec, kafka_settings),
        *toml_rules.dispatcher_warnings(dispatchers, settings.release),
        *toml_rules.selector_warnings(settings),
        *toml_rules.mode_warnings(settings),
        *(f"filter.ignore-txn-start-ts: {ts} has no effect, it is no TSO" for ts in ignored_ts if ts < 1),
    ]
    return Changefeed(
        scheme=settings.uri.scheme,
        topic=topic,
        codec=codec,
        kafka=replace(kafka_settings, topic_limit=CODECS[codec.protocol].topic_limit(settings.release)),
        case_sensitive=bool(settings.file_value("(top level)", "case-sensitive")),
        force_replicate=force_replicate,
        active_active=bool(settings.file_value("(top level)", "enable-active-active")),
        rules=tuple(map(str, filter_rules)) if isinstance(filter_rules, list) else (),
        ignore_txn_start_ts=ignored_ts,
        event_filters=toml_rules.event_filters(settings),
        sql_mode=toml_rules.sql_mode(settings),
        dispatchers=dispatchers,
        column_selectors=toml_rules.column_selectors(settings),
        output_raw_change_event=bool(
            settings.file_value(storage.CLOUD if stored else "sink.kafka-config", "output-raw-change-event")
        ),
        warnings=tuple(warnings),
        storage=stored,
    )
