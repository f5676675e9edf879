"""Topic expressions of `[sink] dispatchers`: `prefix_{schema}_{table}`.

The result is a valid name of a Kafka topic (tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/topic/expression.go).
"""

from __future__ import annotations

import re

from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed.kafka import require_topic
from simulator.ticdc.changefeed.protocols import FALLBACK, PROTOCOLS

MAX_LENGTH = 249
"""Kafka's limit for a topic name."""

NAME = re.compile(r"[A-Za-z0-9._-]+")
EXPRESSIONS = {
    "idle": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*|\{schema\}_\{table\}"),
        "one {schema} among letters, digits, '.', '_', '-', or {schema}_{table}",
    ),
    "schema": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "one {schema} and then at most one {table} among letters, digits, '.', '_', '-'",
    ),
    "any": (
        re.compile(r"[A-Za-z0-9._-]*(\{schema\})?([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "letters, digits, '.', '_', '-', one {schema} and then one {table}",
    ),
}
"""The accepted expressions and their description, by `release.topic_rules`."""

AVRO = re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*\{table\}[A-Za-z0-9._-]*")
FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")
RESERVED = {".": "_", "..": "__"}
PULSAR = re.compile(
    r"(persistent|non-persistent)://[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*"
    r"|[A-Za-z0-9._-]*\{schema}[A-Za-z0-9._-]*\{table}[A-Za-z0-9._-]*"
)
PULSAR_FULL = re.compile(r"(persistent|non-persistent)://")


def is_static(expression: str) -> bool:
    """Return whether the expression has no placeholders (an empty one is the default topic)."""
    return not expression or NAME.fullmatch(expression) is not None


def effective_expression(expression: str, release: Release) -> str:
    """Return the expression, or an empty one if the release sends everything to the default topic."""
    return "" if release.topic_rules in ("none", "idle") else expression


def validate(expression: str, protocol: str = FALLBACK.name, scheme: str = "kafka", release: Release = V8_5) -> None:
    """Raise ChangefeedError for an expression that TiCDC rejects; an empty one is the default topic."""
    if not expression or release.topic_rules == "none":
        return
    if is_static(expression) and release.topic_rules == "any":
        if not scheme.startswith("pulsar"):
            # sent as it is written, and not substituted (dispatcher/event_router.go, getTopicDispatcher)
            require_topic(expression)
        return
    if scheme.startswith("pulsar"):
        _validate_pulsar(expression)
    elif PROTOCOLS[protocol].topics_name_tables and not AVRO.fullmatch(expression):
        raise _invalid(expression, "topic rule for Avro must contain {schema} and {table}", release)
    elif not EXPRESSIONS[release.topic_rules][0].fullmatch(expression):
        raise _invalid(expression, f"TiCDC {release.name} accepts {EXPRESSIONS[release.topic_rules][1]}", release)


def substitute(expression: str, schema: str, table: str) -> str:
    """Return the topic of a table: characters that Kafka refuses become `_`; case is kept; at most 249 characters."""
    name = expression.replace("{schema}", FORBIDDEN.sub("_", schema)).replace("{table}", FORBIDDEN.sub("_", table))
    return RESERVED.get(name, name[:MAX_LENGTH])


def _invalid(expression: str, why: str, release: Release) -> ChangefeedError:
    code = "CDC:ErrKafkaInvalidConfig" if release.one_kafka_code else "CDC:ErrKafkaTopicExprInvalid"
    return ChangefeedError(f"invalid topic expression: {expression} : {why}", code)


def _validate_pulsar(expression: str) -> None:
    full = PULSAR_FULL.search(expression)
    if (full and not PULSAR.fullmatch(expression)) or (not full and "/" in expression):
        raise ChangefeedError(f"invalid topic expression: {expression}", "CDC:ErrPulsarTopicExprInvalid")
