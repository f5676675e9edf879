"""Why a changefeed cannot show a fault, in words that name release and protocol: what several faults ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules


def release_and_protocol(rules: ChangefeedRules) -> str:
    """Release and protocol, for people."""
    return f"TiCDC {rules.release.name} with {CODECS[rules.changefeed.codec.protocol].protocol.title}"


def refuse_without_watermarks(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Why there is no fault of watermarks; empty where they are sent."""
    options, release = rules.changefeed.codec, rules.release
    return (
        ""
        if CODECS[options.protocol].has_watermarks(options, release)
        else (f"{release_and_protocol(rules)} sends no watermarks here: enable-tidb-extension=true is needed")
    )


def refuse_one_partition(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Why no row can be in a wrong partition; empty where it can."""
    count = rules.changefeed.kafka.partition_num
    return "the topic has one partition: partition-num=2 or more is accepted" if count == 1 else ""
