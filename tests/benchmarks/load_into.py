"""`ticdc-sim load` as it is, but into a sink that only counts, or through confluent-kafka.

    python tests/benchmarks/load_into.py counting|confluent load --preset wide-124 --sink-uri ... --duration 20s
"""

from __future__ import annotations

import sys
from dataclasses import replace

from simulator.cli import main
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.ticdc.changefeed import Changefeed

TO_KAFKA = outputs.to_kafka


def counting(plan: Plan, changefeed: Changefeed, prepared_batches: bool = True) -> Output:
    """In place of Kafka."""
    return outputs.to_nowhere(plan, changefeed)


def confluent(plan: Plan, changefeed: Changefeed, prepared_batches: bool = True) -> Output:
    """Kafka through librdkafka."""
    output = TO_KAFKA(plan, changefeed)
    assert isinstance(output.settings, KafkaSettings)
    return replace(output, settings=replace(output.settings, driver="confluent"))


if __name__ == "__main__":
    outputs.to_kafka = {"counting": counting, "confluent": confluent}[sys.argv.pop(1)]
    main()
