"""Where a run's records may go: fixture files, Kafka, the console, nowhere.

One law: what stands in the way (a broker that does not answer, files that are there) shows before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from simulator import signals
from simulator.channel import DriverAddress
from simulator.run.plan import Plan
from simulator.sinks import claim_check
from simulator.sinks.files.directory import begin, commit, discard
from simulator.sinks.kafka.settings import KafkaSettings, of_changefeed
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.dispatch import Destinations


@dataclass(frozen=True)
class Output:
    """Where the records go, and what is left to do there when all tasks are done."""

    sink: str
    settings: object
    destinations: Destinations
    options: CodecOptions
    notes: tuple[str, ...] = ()


@contextmanager
def to_fixtures(
    plan: Plan, changefeed: Changefeed, directory: Path, format: str, shared: bool = False
) -> Iterator[Output]:
    """Fixture files, which appear under `directory` when the block ends well and not at all otherwise; `shared` where
    more than one sink writes to each."""
    counts = {topic: changefeed.kafka.partitions for topic in plan.topics}
    with ExitStack() as undo:
        with signals.defer_signals():
            settings = begin(directory, format, shared)
            undo.callback(signals.defer_signals()(discard), settings)
        yield Output(format, settings, _destinations(plan, counts), options_of(changefeed))
        with signals.defer_signals():
            commit(settings, counts)


def to_kafka(
    plan: Plan, changefeed: Changefeed, prepared_batches: bool = True, driver: str = KafkaSettings.driver
) -> Output:
    """The changefeed's Kafka, its topics found or created; raises DeliveryError where it does not answer."""
    from simulator.sinks.kafka.admin import prepare_topics

    settings = kafka_settings(changefeed, prepared_batches, driver)
    wanted = {topic: changefeed.kafka.partition_num if topic == changefeed.topic else None for topic in plan.topics}
    ready = prepare_topics(settings, wanted)
    options = replace(options_of(changefeed), max_message_bytes=ready.max_message_bytes)
    grown = tuple((growth.topic, growth.partitions) for growth in plan.grown)
    return Output(
        "kafka", replace(ready.settings, grown=grown), _destinations(plan, ready.partitions), options, ready.notes
    )


def to_console(plan: Plan, changefeed: Changefeed, driver: DriverAddress) -> Output:
    """The `ConsoleServer` that listens there."""
    return replace(to_nowhere(plan, changefeed), sink="console", settings=driver)


def to_nowhere(plan: Plan, changefeed: Changefeed) -> Output:
    """A sink that only counts."""
    counts = {topic: changefeed.kafka.partitions for topic in plan.topics}
    return Output("counting", None, _destinations(plan, counts), options_of(changefeed))


def kafka_settings(
    changefeed: Changefeed, prepared_batches: bool = True, driver: str = KafkaSettings.driver
) -> KafkaSettings:
    """What the Kafka sink is told, from what TiCDC's options say."""
    settings = of_changefeed(changefeed.kafka)
    ca, cert, key = map(claim_check.absolute, (settings.tls.ca, settings.tls.cert, settings.tls.key))
    return replace(
        settings,
        tls=replace(settings.tls, ca=ca, cert=cert, key=key),
        max_message_bytes=changefeed.codec.max_message_bytes,
        topic_limit=changefeed.kafka.topic_limit,
        driver=driver,
        prepared_batches=prepared_batches,
    )


def options_of(changefeed: Changefeed) -> CodecOptions:
    """The codec's options, with paths that hold wherever a task works."""
    codec = changefeed.codec
    return replace(codec, claim_check_storage_uri=claim_check.absolute(codec.claim_check_storage_uri))


def _destinations(plan: Plan, counts: Mapping[str, int]) -> Destinations:
    return Destinations.growing(plan.topics, tuple(counts[topic] for topic in plan.topics), plan.active, plan.grown)
