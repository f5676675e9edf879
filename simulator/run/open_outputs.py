"""Where the records of a changefeed go that stays open: memory, and fixture files or Kafka as well.

One law: a topic keeps its place once it is known; what stands in its way shows before anything is sent to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from simulator import signals
from simulator.run.outputs import Output, kafka_settings, options_of
from simulator.run.plan import Plan
from simulator.sinks import SINKS
from simulator.sinks.files.directory import begin, commit, discard
from simulator.sinks.memory import MemorySink, Message
from simulator.sinks.multi_sink import MultiSink
from simulator.sinks.records import Sink, require_delivered
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.dispatch import Destinations


@dataclass(frozen=True)
class OpenOutput:
    """A sink that stays open while topics come."""

    name: str
    """Of the sink, in SINKS."""

    sink: Sink
    options: CodecOptions
    prepare: Callable[[Sequence[str]], Mapping[str, int]]
    """Topics that are new, made ready → how many partitions each has; raises SimulatorError."""

    finish: Callable[[Mapping[str, int]], None]
    """What is left to do when the sink is closed, and everything arrived: given each topic's partitions."""

    undo: Callable[[], None]
    """What to do instead where it ends otherwise."""

    grow: Callable[[str, int], None]
    """Gives a topic more partitions; raises SimulatorError."""

    topics: list[str]
    """Known so far; the sink has the same list."""

    counts: dict[str, int] = field(default_factory=dict)
    """Partitions of each topic."""

    def of(self, plan: Plan) -> Output:
        """Where the records of a plan go, whose topics begin with those that are known."""
        fresh = plan.topics[len(self.topics) :]
        if fresh:
            self.counts.update(self.prepare(fresh))
            self.topics.extend(fresh)
        begins = tuple(self.counts[topic] for topic in plan.topics)
        to = Destinations.growing(plan.topics, begins, plan.active, plan.grown)
        for growth in plan.grown:
            self.grow(growth.topic, growth.partitions)
            self.counts[growth.topic] = growth.partitions
        return Output(self.name, None, to, self.options)

    def close(self, complete: bool = True) -> None:
        """Ends the sink; raises DeliveryError where something did not arrive. What is not complete is undone."""
        done = False
        try:
            require_delivered(self.sink.close())
            done = complete
        finally:
            with signals.defer_signals():
                if done:
                    self.finish(self.counts)
                else:
                    self.undo()


def to_memory(changefeed: Changefeed, messages: list[Message]) -> OpenOutput:
    """Messages appended to that list, and nowhere else."""
    topics: list[str] = []
    prepare = partial(_as_configured, changefeed)
    return OpenOutput(
        "memory",
        MemorySink(messages, topics),
        options_of(changefeed),
        prepare,
        _nothing,
        _nothing_undone,
        _grown,
        topics,
    )


def to_fixtures(changefeed: Changefeed, messages: list[Message], directory: Path, format: str) -> OpenOutput:
    """Fixture files as well, which appear under `directory` when the output is closed."""
    topics: list[str] = []
    with signals.defer_signals():
        settings = begin(directory, format)
    return OpenOutput(
        format,
        MultiSink((SINKS[format](settings, topics), MemorySink(messages, topics))),
        options_of(changefeed),
        partial(_as_configured, changefeed),
        partial(commit, settings),
        partial(discard, settings),
        _grown,
        topics,
    )


def to_kafka(changefeed: Changefeed, messages: list[Message]) -> OpenOutput:
    """The changefeed's Kafka as well; its default topic is found or created at once, the others when they are met.

    Raises DeliveryError where it does not answer.
    """
    from simulator.sinks.kafka.admin import grow_topic, prepare_topics

    settings = kafka_settings(changefeed)
    default = {changefeed.topic: changefeed.kafka.partition_num}
    ready = prepare_topics(settings, default)

    def prepare(fresh: Sequence[str]) -> Mapping[str, int]:
        known = all(topic in ready.partitions for topic in fresh)
        return (
            ready.partitions
            if known
            else prepare_topics(
                settings, {**default, **{topic: None for topic in fresh if topic != changefeed.topic}}
            ).partitions
        )

    topics: list[str] = []
    return OpenOutput(
        "kafka",
        MultiSink((SINKS["kafka"](ready.settings, topics), MemorySink(messages, topics))),
        replace(options_of(changefeed), max_message_bytes=ready.max_message_bytes),
        prepare,
        _nothing,
        _nothing_undone,
        partial(grow_topic, ready.settings),
        topics,
    )


def _as_configured(changefeed: Changefeed, fresh: Sequence[str]) -> Mapping[str, int]:
    return dict.fromkeys(fresh, changefeed.kafka.partitions)


def _nothing(counts: Mapping[str, int]) -> None:
    """Nothing is left to do."""


def _grown(topic: str, partitions: int) -> None:
    """There is nothing that has to be asked for them."""


def _nothing_undone() -> None:
    """What was sent stays sent."""
