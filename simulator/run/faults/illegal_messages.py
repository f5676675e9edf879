"""Faults that no TiCDC shows, of messages: whoever decodes them is tried with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from simulator.run.emit import Outgoing
from simulator.run.faults.keys import TABLE_KEY
from simulator.run.faults.kind import Acting, FaultKind, Scene, WAY
from simulator.run.faults.next_rows import fitting_rows, spoken
from simulator.run.faults.wrong_messages import corrupt, entry_of, message_of, truncated, with_entry
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import Entry
from simulator.ticdc.rules import ChangefeedRules

Damage = Callable[[Entry, CodecOptions], Entry]


class Damaged(Acting):
    """The next message of rows."""

    awaits = True

    def __init__(self, scene: Scene, damage: Damage) -> None:
        super().__init__(scene)
        self._damage = damage

    def messages(self, made: Outgoing) -> Iterator[Outgoing]:
        place = None if self.over else message_of(made, fitting_rows(made.events, self.scene))
        if place is not None:
            self.over = True
            made = with_entry(made, place, self._damage(entry_of(made, place), self.scene.job.options))
        yield made


def _corrupt(entry: Entry, options: CodecOptions) -> Entry:
    return entry[0], corrupt(entry[1])


def _truncated(entry: Entry, options: CodecOptions) -> Entry:
    return entry[0], truncated(entry[1])


def _unknown(entry: Entry, options: CodecOptions) -> Entry:
    return CODECS[options.protocol].unknown_type(entry, options)


def _without_batches(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    batches = CODECS[rules.changefeed.codec.protocol].batches
    return "" if batches else f"{spoken(rules)} puts each row into a message of its own, which nothing frames"


OF_TABLE = {"table": TABLE_KEY}

CORRUPT_JSON = FaultKind(
    says="The next message of rows is no JSON.",
    source="tiflow#11707, tiflow#11652",
    acting=partial(Damaged, damage=_corrupt), legal=False, keys=OF_TABLE, layer=WAY,
)
TRUNCATED_BATCH = FaultKind(
    says="The next message of rows ends in the middle of its value, which is shorter than its lengths say.",
    source="tiflow v8.5.3: pkg/sink/codec/open/open_protocol_decoder.go",
    acting=partial(Damaged, damage=_truncated), legal=False, keys=OF_TABLE, refuse=_without_batches, layer=WAY,
)
UNKNOWN_TYPE = FaultKind(
    says="The next message of rows has a type that there is not.",
    source="flink: CanalJsonDeserializationSchema, `Unknown type value`",
    acting=partial(Damaged, damage=_unknown), legal=False, keys=OF_TABLE, layer=WAY,
)
