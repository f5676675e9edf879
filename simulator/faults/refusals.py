"""Why a changefeed cannot have a fault. Messages name release and protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules


def release_and_protocol(rules: ChangefeedRules) -> str:
    return f"TiCDC {rules.release.name} with {CODECS[rules.changefeed.codec.protocol].protocol.title}"


def refuse_without_watermarks(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Return why there is no fault of watermarks; empty if the changefeed sends them."""
    options, release = rules.changefeed.codec, rules.release
    return (
        ""
        if CODECS[options.protocol].has_watermarks(options, release)
        else (f"{release_and_protocol(rules)} sends no watermarks here: enable-tidb-extension=true is needed")
    )


def refuse_one_partition(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Return why no row can be in a wrong partition; empty if one can."""
    count = rules.changefeed.kafka.partition_num
    return "the topic has one partition: partition-num=2 or more is accepted" if count == 1 else ""
