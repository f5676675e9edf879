"""Faults that steps plan (`run.steps.planned_faults`). They change the plan, not the stream.

* `add-partitions`: TiCDC asks Kafka every ten minutes (6.0: every minute) for the partitions of topics other than its
  default one. For the default topic it uses partition-num, which it reads when the changefeed starts or resumes, where
  `Release.partition_num_limits`; elsewhere it asks for that one, too. Between the last row that
  is hashed over the old partitions and the first that is hashed over all, a watermark reaches all partitions, new ones
  included, as if the changefeed had been paused.
* `message-size`: TiCDC counts key, value and 36 bytes of record overhead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator import limits
from simulator.faults.active import ActiveFault
from simulator.faults.fault import PARTITIONS_KEY, TABLE_KEY, TOPIC_KEY, number_from
from simulator.faults.kind import FaultKind, release_and_protocol
from simulator.settings import TEXT, Key, to_text
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules

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
