"""Dispatch rules, column selectors and event filters as they are written in the file.

`filters` and `dispatch` compile their matchers and topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any, TypeVar

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import Release
from simulator.ticdc.changefeed.keys import DISPATCHERS, Value
from simulator.ticdc.changefeed.model import ColumnSelector, DispatchRule, EventFilter
from simulator.ticdc.changefeed.rejections import filter_rows, rows
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings
from simulator.tidb.system_variables import READING_MODES, mode_flags

Entry = TypeVar("Entry", DispatchRule, ColumnSelector, EventFilter)


def dispatchers(settings: ChangefeedSettings) -> tuple[DispatchRule, ...]:
    """Return `[sink] dispatchers`; `dispatcher` is the old spelling of `partition`."""
    rules = rows(settings, "sink", "dispatchers")
    return tuple(
        _entry(DispatchRule, {**row, "partition": row.get("partition") or row.get("dispatcher")}) for row in rules
    )


def column_selectors(settings: ChangefeedSettings) -> tuple[ColumnSelector, ...]:
    """Return `[sink] column-selectors`, if the release applies them."""
    if settings.release.column_selectors == "nothing":
        return ()
    return tuple(_entry(ColumnSelector, row) for row in rows(settings, "sink", "column-selectors"))


def selector_warnings(settings: ChangefeedSettings) -> Iterator[str]:
    """Yield a warning if the release reads column selectors and ignores them."""
    if rows(settings, "sink", "column-selectors") and settings.release.column_selectors == "nothing":
        yield f"sink.column-selectors has no effect: TiCDC {settings.release.name} reads it and does not use it"


def event_filters(settings: ChangefeedSettings) -> tuple[EventFilter, ...]:
    """Return `[[filter.event-filters]]`."""
    return tuple(_entry(EventFilter, row) for row in filter_rows(settings))


def sql_mode(settings: ChangefeedSettings) -> frozenset[str]:
    """Return the modes of `sql-mode` if the release reads DDL by it. Raises ChangefeedError for an unknown mode.

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


def mode_warnings(settings: ChangefeedSettings) -> Iterator[str]:
    """Yield a warning if the release accepts `sql-mode` and does not use it."""
    if settings.file_value("(top level)", "sql-mode") and settings.release.ddl_text_mode == "job":
        yield f"sql-mode has no effect: TiCDC {settings.release.name} reads DDL by the sql_mode of its session"


def dispatcher_warnings(dispatchers: tuple[DispatchRule, ...], release: Release) -> Iterator[str]:
    """Yield a warning for each part of a rule that has no effect or another effect than written."""
    for number, rule in enumerate(dispatchers, 1):
        where, name = f"sink.dispatchers[{number}]", rule.partition.lower()
        yield from (f"{where}: {remark}" for remark in _topic_warnings(rule, release))
        if name:
            yield from (f"{where}: {remark}" for remark in _partition_warnings(rule, name, release))


def _topic_warnings(rule: DispatchRule, release: Release) -> Iterator[str]:
    if rule.topic and release.topic_rules in ("none", "idle"):
        yield f"topic has no effect: TiCDC {release.name} sends everything to the topic of the sink-uri"


def _partition_warnings(rule: DispatchRule, name: str, release: Release) -> Iterator[str]:
    names = [dispatcher for dispatcher in DISPATCHERS if dispatcher in release.dispatchers]
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


def _entry(kind: type[Entry], row: Mapping[str, Value]) -> Entry:
    """Return an entry whose fields are the row's keys: lists of texts, or texts."""
    return kind(**{field.name: _content(field, row.get(field.name.replace("_", "-"))) for field in fields(kind)})


def _content(field: Field[Any], value: Value) -> Any:
    if field.type == "str":
        return str(value or "")
    return tuple(map(str, value)) if isinstance(value, list) else ()
