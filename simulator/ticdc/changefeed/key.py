"""One setting that a sink-uri or a changefeed.toml may have: what it takes, its default, why it may have no effect.

One law: a default here is that of TiCDC v8.5; where releases differ, the release is asked (`keys.default`).
"""

from __future__ import annotations

from dataclasses import dataclass

Value = bool | int | str | list[object] | dict[str, object] | None


@dataclass(frozen=True)
class Key:
    """What a key takes."""

    kind: str
    """bool, int, int16, int32, text, duration, texts, ints, or rows (an array of tables)."""

    default: Value = None
    """TiCDC's; None where it has none."""

    idle: str = ""
    """Why the key has no effect here; empty where it has one."""


DATABASE = "it concerns database sinks only"
STORAGE = "it concerns storage sinks only"
PULSAR = "it concerns Pulsar only"
AVRO = "it concerns the avro protocol only"
SIMPLE = "it concerns the simple protocol only"
DEBEZIUM = "it concerns the debezium protocol only"
CHECKSUM = "row checksums exist in the avro and simple protocols only"
INSIDE = "it changes how TiCDC works inside, not what it sends"
NOT_YET = "this simulator does not do it yet"
UNSEEN = "this simulator does not do it"
URI_ALONE = "TiCDC reads it in the sink-uri alone"
CYCLIC = "cyclic replication concerns database sinks only"


def rows(kind: str, names: str, idle: str = "", default: Value = None) -> dict[str, Key]:
    """The same for each of several names."""
    return {name: Key(kind, default, idle) for name in names.split()}
