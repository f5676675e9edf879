"""sink-uri and changefeed.toml, TiCDC's own and verbatim, to a Changefeed, or the mistake in them.

One law: whatever is written and has no effect is said by name; the URI wins over the file.
"""

from __future__ import annotations

from pathlib import Path

from simulator.changefeed.model import Changefeed, DispatchRule, EventFilter, Kafka, Sasl, Tls
from simulator.releases import V8_5, Release


def load(sink_uri: str, toml_text: str = "", release: Release = V8_5) -> Changefeed:
    """The changefeed; raises ChangefeedError with TiCDC's code and text where TiCDC rejects it."""
    raise NotImplementedError


def load_file(sink_uri: str, path: str | Path | None = None, release: Release = V8_5) -> Changefeed:
    """As `load`, the changefeed.toml read from a file; None is no file."""
    raise NotImplementedError


def partition_count(asked: int | None, actual: int, topic: str = "") -> int:
    """Partitions to use of a topic that has `actual`; raises ChangefeedError if more were asked (`SetPartitionNum`)."""
    raise NotImplementedError
