"""A kind of fault: its description, its source, its keys, and why a changefeed cannot have it.

Two kinds change the plan, not the stream (`run.steps.fault`):

* `add-partitions`: TiCDC asks Kafka every ten minutes (6.0: every minute) for the partitions of topics other than its
  default one. For the default topic it uses partition-num, which it reads when the changefeed starts or resumes, where
  `Release.partition_num_limits`; elsewhere it asks for that one, too. Between the last row that
  is hashed over the old partitions and the first that is hashed over all, a watermark reaches all partitions, new ones
  included, as if the changefeed had been paused.
* `message-size`: TiCDC counts key, value and 36 bytes of record overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from simulator import limits
from simulator.faults.fault import PARTITIONS_KEY, TABLE_KEY, TOPIC_KEY, ActiveFault, FaultContext, number_from
from simulator.settings import TEXT, Key, to_text
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.rules import ChangefeedRules

KAFKA, STORAGE = "kafka", "storage"
"""The sinks that a fault may be about."""

INSIDE_TICDC, IN_TRANSIT = range(2)
"""Where a fault is at work: in TiCDC, or between TiCDC and the consumer. Events pass those in TiCDC first."""


@dataclass(frozen=True)
class FaultKind:
    says: str
    """What happens, in a sentence."""

    source: str
    """TiCDC's code, or a thread about it."""

    active: Callable[[FaultContext], ActiveFault]
    """Creates the fault at work when it begins; raises UserError."""

    legal: bool = True
    """Whether TiCDC causes it, so that consumers must handle it. Illegal faults test a consumer's checks."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """The required keys."""

    refuse: Callable[[Mapping[str, Any], ChangefeedRules], str] = lambda values, rules: ""
    """Returns why a changefeed with these rules cannot have the fault, with release and protocol; empty if it can."""

    lacks: Callable[[Mapping[str, Any], Destinations], str] = lambda values, to: ""
    """Returns why these topics and partitions cannot have the fault; empty if they can."""

    layer: int = INSIDE_TICDC
    sinks: tuple[str, ...] = (KAFKA,)

    def refusal(self, values: Mapping[str, Any], rules: ChangefeedRules) -> str:
        """Return why a changefeed with these rules and its sink cannot have the fault; empty if it can."""
        sink = KAFKA if rules.changefeed.storage is None else STORAGE
        if sink in self.sinks:
            return self.refuse(values, rules)
        if sink == KAFKA:
            return "it is about files, and the sink is Kafka"
        return "it is about Kafka's messages, and the sink is a storage"


OF_TABLE = {"table": TABLE_KEY}
illegal_fault = partial(FaultKind, legal=False, keys=OF_TABLE, layer=IN_TRANSIT)
"""Creates a kind of fault that TiCDC does not cause."""


def release_and_protocol(rules: ChangefeedRules) -> str:
    return f"TiCDC {rules.release.name} with {CODECS[rules.changefeed.codec.protocol].protocol.title}"


def refuse_without_watermarks(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Return why there is no fault of watermarks; empty if the changefeed sends them."""
    options = rules.changefeed.codec
    if rules.changefeed.storage is not None or CODECS[options.protocol].has_watermarks(options, rules.release):
        return ""
    return f"{release_and_protocol(rules)} sends no watermarks here: enable-tidb-extension=true is needed"


COLUMN_KEY = Key("column", to_text, TEXT, "The text column that is filled.")
EXTRA_KEY = Key("extra", *number_from(0, limits.FILE_BYTES), "How many bytes above max-message-bytes; 0 where unsaid.")
WHERE_KEY = Key("where", to_text, TEXT, "A condition of SQL that the row meets; any row where unsaid.")


def _refuse_message_size(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options, release = rules.changefeed.codec, rules.release
    if options.large_message_handle_compression != "none":
        return f"large-message-handle-compression is {options.large_message_handle_compression}: only none is accepted"
    if CODECS[options.protocol].sizes(options, release).large_rows:
        return f"{release_and_protocol(rules)} does not look how large a row's message is"
    return ""


ADD_PARTITIONS = FaultKind(
    says="A topic gets more partitions: from then on rows are hashed over all of them, and watermarks go to all.",
    source="tiflow#9952, tiflow PR#9955; tiflow v8.5.3: cdc/sink/dmlsink/mq/manager/kafka_manager.go",
    active=ActiveFault,
    keys={"topic": TOPIC_KEY, "partitions": PARTITIONS_KEY},
    needs=("partitions",),
)
MESSAGE_SIZE = FaultKind(
    says="A row is updated so that its message has exactly max-message-bytes, or more.",
    source="ticdc#2991, tiflow#12016; tiflow v8.5.3: pkg/sink/codec/common/message.go",
    active=ActiveFault,
    keys={"table": TABLE_KEY, "column": COLUMN_KEY, "extra": EXTRA_KEY, "where": WHERE_KEY},
    needs=("table", "column"),
    refuse=_refuse_message_size,
)
