"""An illegal fault of protocols whose rows name a table schema: BOOTSTRAP, which tells it, does not come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from simulator.columns.change_frame import BOOTSTRAP, ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.faults.active import ActiveFault, of_table
from simulator.faults.fault import FOR_KEY
from simulator.faults.kind import OF_TABLE, illegal_fault, release_and_protocol
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules


class LoseBootstrap(ActiveFault):
    """Drops the messages of BOOTSTRAP while it lasts. A message has one event, as nothing else is in its flush."""

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        lost = (ints(made.events, "kind") == BOOTSTRAP) & of_table(made.events, self.context)
        if not lost.any():
            yield made
        elif not lost.all():
            yield made.single(np.flatnonzero(~lost))


def _refuse(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options = rules.changefeed.codec
    if CODECS[options.protocol].bootstrap is None:
        return f"{release_and_protocol(rules)} sends no BOOTSTRAP"
    if min(options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count) <= 0:
        return "the changefeed sends no BOOTSTRAP: both settings of its repetition must be above 0"
    return ""


LOSE_BOOTSTRAP = illegal_fault(
    says="BOOTSTRAP, which tells a table's schema, does not come.",
    source="tiflow#11032",
    active=LoseBootstrap,
    keys={**OF_TABLE, "for": FOR_KEY},
    refuse=_refuse,
)
