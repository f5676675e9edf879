"""The options that choose the client which sends to Kafka: --driver and --plain-producer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from simulator.cli.sending import elsewhere
from simulator.errors import UserError
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.ticdc.changefeed import Changefeed


def check(options: dict[str, Any]) -> None:
    """Check that the options fit each other and the output; raises UserError."""
    to = elsewhere(options)
    if to is not None and options["driver"]:
        raise UserError(f"--driver {options['driver']} is about Kafka: {to} contacts none")
    if options["plain_producer"] and options["driver"] == "confluent":
        raise UserError("--plain-producer is about kafka-python: --driver confluent has one way to send")


def to_kafka(plan: Plan, changefeed: Changefeed, options: dict[str, Any]) -> Output:
    """Return `outputs.to_kafka` with the requested client; adds notes about topics with messages of other runs."""
    from simulator.sinks.kafka.read import offset_ranges

    driver = options["driver"] or KafkaSettings.driver
    output = outputs.to_kafka(plan, changefeed, not options["plain_producer"], driver)
    if options["resume"] or not isinstance(output.settings, KafkaSettings):
        return output
    counts: Counter[str] = Counter()
    for (topic, _), (first, end) in offset_ranges(output.settings, output.destinations.topics).items():
        counts[topic] += end - first
    notes = (
        f"topic {topic} has {count:,} messages already, and those of this run come behind them; verify and a consumer "
        "see both: name another topic for this run alone"
        for topic, count in counts.items()
        if count
    )
    return replace(output, notes=(*output.notes, *notes))


def describe(settings: KafkaSettings) -> str:
    """Return the client, its version and its API."""
    from simulator.sinks.kafka.producers import describe_client

    return describe_client(settings)
