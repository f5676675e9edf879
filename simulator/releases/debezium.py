"""Behaviours of Debezium messages."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import section

DEBEZIUM = section("not simulated yet", "Debezium")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DebeziumBehaviours:
    """Debezium's messages."""

    debezium_keys: bool = DEBEZIUM(
        "Whether Debezium's messages have keys, the handle key with a schema of its own, and the schemas of columns "
        "have defaults ((8.5.0+, new: %s)); names in schemas are then cleaned",
        "pkg/sink/codec/debezium/codec.go EncodeKey",
    )
    debezium_statements: bool = DEBEZIUM(
        "Whether Debezium has DDL statements, and watermarks with enable-tidb-extension ((new: %s))",
        "pkg/sink/codec/debezium/codec.go EncodeDDLEvent",
    )
