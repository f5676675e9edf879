"""A changefeed from its sink-uri and changefeed.toml, in TiCDC's own format.

`load` returns a `Changefeed` or raises TiCDC's error. A key without effect gives a warning. The URI takes precedence
over the file. Dispatch rules, column selectors and event filters are as they are written: `filters` and `dispatch`
compile their matchers and topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from simulator.errors import ChangefeedError, UserError, did_you_mean
from simulator.files import read_text
from simulator.releases import V8_5, Release
from simulator.settings import DEFAULT_SINK_URI
from simulator.ticdc.changefeed import encoder, kafka, rejections, storage
from simulator.ticdc.changefeed.kafka import Kafka, Sasl, Tls
from simulator.ticdc.changefeed.keys import DISPATCHERS, STORAGE_SCHEMES, Value, key
from simulator.ticdc.changefeed.rejections import filter_rows, rows
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings, parse_uri, typed_parameters, without_parameters
from simulator.ticdc.changefeed.storage import Storage
from simulator.ticdc.changefeed.toml_file import parse_file
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.system_variables import READING_MODES, mode_flags

SCHEMES = ("kafka", "kafka+ssl")


@dataclass(frozen=True)
class DispatchRule:
    """One entry of `[sink] dispatchers`, as written."""

    matcher: tuple[str, ...]
    """Table-filter rules; matched case-insensitively unless `case-sensitive`."""

    partition: str = ""
    """Dispatcher in TiCDC's spelling; empty means `default`."""

    index: str = ""
    columns: tuple[str, ...] = ()
    topic: str = ""
    """Topic name or expression; empty means the default topic."""

    target_schema: str = ""
    """The schema in messages: literal text, `{schema}` and `{table}`; empty keeps the table's own."""

    target_table: str = ""


@dataclass(frozen=True)
class ColumnSelector:
    """One entry of `[sink] column-selectors`, as written."""

    matcher: tuple[str, ...] = ()
    """Table-filter rules; matched case-insensitively unless `case-sensitive`."""

    columns: tuple[str, ...] = ()
    """Column-filter rules, in any letter case; the last that matches decides."""


@dataclass(frozen=True)
class EventFilter:
    """One entry of `[[filter.event-filters]]`, as written."""

    matcher: tuple[str, ...] = ()
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    ignore_insert_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_delete_value_expr: str = ""

    @property
    def expressions(self) -> tuple[str, ...]:
        """All SQL expressions of the entry, in the order in which TiCDC evaluates them."""
        expressions = (
            self.ignore_insert_value_expr,
            self.ignore_update_old_value_expr,
            self.ignore_update_new_value_expr,
            self.ignore_delete_value_expr,
        )
        return tuple(filter(None, expressions))


@dataclass(frozen=True)
class Changefeed:
    """A changefeed that TiCDC accepts and the simulator supports."""

    scheme: str
    """`kafka`, `kafka+ssl`, or that of a storage: `file`, `s3`, …"""

    topic: str
    """The default topic; a storage has one topic, whose partitions are the sink's workers."""

    codec: CodecOptions
    kafka: Kafka
    case_sensitive: bool = False
    force_replicate: bool = False
    active_active: bool = False
    """`enable-active-active`: tables have ACTIVE_ACTIVE, and rows are sent as they are stored."""

    rules: tuple[str, ...] = ("*.*",)
    """`[filter] rules`."""

    ignore_txn_start_ts: tuple[int, ...] = ()
    event_filters: tuple[EventFilter, ...] = ()
    sql_mode: frozenset[str] = frozenset()
    """The modes of `sql-mode`, in releases that read DDL by it."""

    dispatchers: tuple[DispatchRule, ...] = ()
    column_selectors: tuple[ColumnSelector, ...] = ()
    output_raw_change_event: bool = False
    """Whether an UPDATE of a key stays one event (`[sink.kafka-config] output-raw-change-event`)."""

    warnings: tuple[str, ...] = ()
    """One line each: unknown keys, keys without effect, conflicts between URI and file."""

    storage: Storage | None = None
    """The settings of a storage sink; None for Kafka."""

    sink_uri: str = field(default="", compare=False, repr=False)
    """The sink-uri as written; `config` is the text of the file."""

    config: str = field(default="", compare=False, repr=False)

    def checkpoint_interval_ms(self, resolved_interval_ms: int) -> int:
        """Return the simulated time between checkpoints: those of a storage wait for its files."""
        return max(resolved_interval_ms, self.storage.flush_interval_ms) if self.storage else resolved_interval_ms


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
        (*parsed.warnings, *kafka.security_warnings(settings, kafka_settings.sasl, kafka_settings.tls)),
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
    # workers are the partitions of a topic
    kafka_settings = Kafka((), partition_num=stored.worker_count) if stored else kafka.kafka(settings)
    codec, dispatch_rules = encoder.encoder_options(settings, force_replicate), _dispatch_rules(settings)
    filter_rules, ignored = settings.file_value("filter", "rules"), settings.file_value("filter", "ignore-txn-start-ts")
    ignored_ts = tuple(int(str(ts)) for ts in ignored) if isinstance(ignored, list) else ()
    warnings = [
        *settings.uri.warnings,
        *(storage.warnings(settings, stored) if stored else settings.file.warnings),
        *settings.warnings(),
        *encoder.warnings(settings, codec, kafka_settings),
        *_rule_warnings(dispatch_rules, settings.release),
        *_unused_settings(settings),
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
        event_filters=tuple(_entry(EventFilter, row) for row in filter_rows(settings)),
        sql_mode=_sql_mode(settings),
        dispatchers=dispatch_rules,
        column_selectors=_column_selectors(settings),
        output_raw_change_event=bool(
            settings.file_value(storage.CLOUD if stored else "sink.kafka-config", "output-raw-change-event")
        ),
        warnings=tuple(warnings),
        storage=stored,
    )


Entry = TypeVar("Entry", DispatchRule, ColumnSelector, EventFilter)


def _dispatch_rules(settings: ChangefeedSettings) -> tuple[DispatchRule, ...]:
    """Return `[sink] dispatchers`; `dispatcher` is the old spelling of `partition`."""
    return tuple(
        _entry(DispatchRule, {**row, "partition": row.get("partition") or row.get("dispatcher")})
        for row in rows(settings, "sink", "dispatchers")
    )


def _column_selectors(settings: ChangefeedSettings) -> tuple[ColumnSelector, ...]:
    """Return `[sink] column-selectors`, if the release applies them."""
    if settings.release.column_selectors == "nothing":
        return ()
    return tuple(_entry(ColumnSelector, row) for row in rows(settings, "sink", "column-selectors"))


def _entry(kind: type[Entry], row: Mapping[str, Value]) -> Entry:
    """Return an entry whose fields are the row's keys: lists of texts, or texts."""
    return kind(**{field.name: _content(field, row.get(field.name.replace("_", "-"))) for field in fields(kind)})


def _content(field: Field[Any], value: Value) -> Any:
    if field.type == "str":
        return str(value or "")
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _sql_mode(settings: ChangefeedSettings) -> frozenset[str]:
    """Return the modes of `sql-mode` if the release reads DDL by it; raise ChangefeedError for an unknown mode.

    Modes are spelled in upper case, and ANSI is no ANSI_QUOTES (tiflow v7.5.0: pkg/filter/sql_event_filter.go).
    """
    text = str(settings.file_value("(top level)", "sql-mode") or "")
    if settings.release.ddl_text_mode != "changefeed":
        return frozenset()
    try:
        return mode_flags(text)
    except ValueError:
        accepted = ", ".join(sorted(READING_MODES))
        raise ChangefeedError(
            f"invalid replica config, invalid sqlMode {text}; accepted: {accepted}, …, separated by commas without blanks",
            "CDC:ErrInvalidReplicaConfig",
        ) from None


def _rule_warnings(rules: tuple[DispatchRule, ...], release: Release) -> Iterator[str]:
    """Yield a warning for each part of a rule that has no effect or another effect than written."""
    for number, rule in enumerate(rules, 1):
        yield from (f"sink.dispatchers[{number}]: {remark}" for remark in _remarks(rule, release))


def _remarks(rule: DispatchRule, release: Release) -> Iterator[str]:
    if rule.topic and release.topic_rules in ("none", "idle"):
        yield f"topic has no effect: TiCDC {release.name} sends everything to the topic of the sink-uri"
    name, names = rule.partition.lower(), [each for each in DISPATCHERS if each in release.dispatchers]
    if not name:
        return
    if name not in names:
        since = f" to TiCDC {release.name}" if name in DISPATCHERS else ""
        yield f"partition {rule.partition!r} is unknown{since}, default is used.{did_you_mean(name, names)}"
    if name == "rowid" and not release.rowid_is_row_id:
        yield "partition 'rowid' is deprecated, index-value is used"
    if rule.index and name not in ("index-value", "rowid"):
        yield f"index has no effect with partition {rule.partition!r}"
    if release.dispatch_needs_index and name in ("index-value", "rowid") and not rule.index:
        yield f"`cdc cli changefeed create` of TiCDC {release.name} refuses partition {rule.partition!r} without index"
    if rule.columns and name != "columns":
        yield f"columns has no effect with partition {rule.partition!r}"


def _unused_settings(settings: ChangefeedSettings) -> Iterator[str]:
    """Yield a warning for each setting that the release reads and does not use."""
    release = settings.release
    if rows(settings, "sink", "column-selectors") and release.column_selectors == "nothing":
        yield f"sink.column-selectors has no effect: TiCDC {release.name} reads it and does not use it"
    if settings.file_value("(top level)", "sql-mode") and release.ddl_text_mode == "job":
        yield f"sql-mode has no effect: TiCDC {release.name} reads DDL by the sql_mode of its session"
