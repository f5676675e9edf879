"""sink-uri and changefeed.toml, TiCDC's own and verbatim, to a Changefeed, or the mistake in them.

One law: whatever is written and has no effect is said by name; the URI wins over the file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulator.errors import ChangefeedError, UserError
from simulator.files import read_text
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import encoder, kafka, rejections, rules, security
from simulator.ticdc.changefeed.keys import key
from simulator.ticdc.changefeed.model import (
    Changefeed,
    ColumnSelector,
    DispatchRule,
    EventFilter,
    Kafka,
    Sasl,
    Tls,
    partition_count,
)
from simulator.ticdc.changefeed.settings import Settings, conflicts, idle_parameters
from simulator.ticdc.changefeed.sink_uri import parse_uri, typed_parameters
from simulator.ticdc.changefeed.toml_file import parse_file
from simulator.ticdc.codecs import CODECS

__all__ = [
    "Changefeed",
    "ColumnSelector",
    "DispatchRule",
    "EventFilter",
    "Kafka",
    "Sasl",
    "Tls",
    "key",
    "load",
    "load_file",
    "partition_count",
    "reach",
]

SCHEMES = ("kafka", "kafka+ssl")


def load(sink_uri: str, toml_text: str = "", release: Release = V8_5, name: str = "changefeed.toml") -> Changefeed:
    """The changefeed; raises ChangefeedError with TiCDC's code and text where TiCDC rejects it.

    Table filters and topic expressions are judged where they are compiled: `filters.replication`, `dispatch.router`.
    """
    parsed, content = parse_uri(sink_uri, release), parse_file(toml_text, name, release)
    settings = Settings(parsed, typed_parameters(parsed, release), content, release)
    rejections.reject(settings)
    if parsed.scheme not in SCHEMES:
        raise ChangefeedError(f"scheme {parsed.scheme} is not simulated; accepted: {', '.join(SCHEMES)}")
    return replace(_changefeed(settings), sink_uri=sink_uri, config=toml_text)


def reach(source: str, release: Release = V8_5) -> tuple[str, Kafka, tuple[str, ...]]:
    """Topic and Kafka of `kafka://host:port/topic?…` read as a sink-uri is, with a warning for what has no effect."""
    parsed = parse_uri(source, release)
    if parsed.scheme not in SCHEMES:
        raise ChangefeedError(f"scheme {parsed.scheme} is not read; accepted: {', '.join(SCHEMES)}")
    settings = Settings(parsed, typed_parameters(parsed, release), parse_file("", "", release), release)
    reached = kafka.kafka(settings)
    return kafka.topic(settings), reached, (*parsed.warnings, *security.idle(settings, reached.sasl, reached.tls))


def load_file(sink_uri: str, path: str | Path | None = None, release: Release = V8_5) -> Changefeed:
    """As `load`, the changefeed.toml read from a file; None is no file."""
    if path is None:
        return load(sink_uri, "", release)
    try:
        text = read_text(Path(path))
    except UserError as error:
        raise ChangefeedError(str(error)) from error
    return load(sink_uri, text, release, str(path))


def _changefeed(settings: Settings) -> Changefeed:
    force_replicate = bool(settings.of_file("(top level)", "force-replicate"))
    topic, reached = kafka.topic(settings), kafka.kafka(settings)
    codec, dispatchers = encoder.encoder_options(settings, force_replicate), rules.dispatchers(settings)
    filtered, ignored = settings.of_file("filter", "rules"), settings.of_file("filter", "ignore-txn-start-ts")
    ignored_ts = tuple(int(str(ts)) for ts in ignored) if isinstance(ignored, list) else ()
    warnings = [
        *(*settings.uri.warnings, *settings.file.warnings, *idle_parameters(settings), *conflicts(settings)),
        *(*encoder.idle(settings, codec, reached), *rules.idle(dispatchers, settings.release)),
        *rules.idle_selectors(settings),
        *(f"filter.ignore-txn-start-ts: {ts} has no effect, it is no TSO" for ts in ignored_ts if ts < 1),
    ]
    return Changefeed(
        scheme=settings.uri.scheme,
        topic=topic,
        codec=codec,
        kafka=replace(reached, topic_limit=CODECS[codec.protocol].topic_limit(settings.release)),
        case_sensitive=bool(settings.of_file("(top level)", "case-sensitive")),
        force_replicate=force_replicate,
        rules=tuple(map(str, filtered)) if isinstance(filtered, list) else (),
        ignore_txn_start_ts=ignored_ts,
        event_filters=rules.event_filters(settings),
        dispatchers=dispatchers,
        column_selectors=rules.column_selectors(settings),
        output_raw_change_event=bool(settings.of_file("sink.kafka-config", "output-raw-change-event")),
        warnings=tuple(warnings),
    )
