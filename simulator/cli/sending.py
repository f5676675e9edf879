"""The options that say where records go, and what is kept of a run: --console, --fixtures, --checkpoint, …

They are checked before a broker or a file is touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulator.cli.options import instead_of_sink
from simulator.cli.run_report import Display
from simulator.errors import DeliveryError, UserError
from simulator.limits import counted
from simulator.run import checkpoint, outputs
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.execute import PlannedRun
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.signals import Stopped
from simulator.sinks.kafka import KafkaSettings
from simulator.ticdc.changefeed import Changefeed


def check_sink(sink_uri: str | None, options: Mapping[str, Any]) -> None:
    """Check that there is an output; raises UserError."""
    if sink_uri is None and instead_of_sink(options) is None:
        raise UserError(
            "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or "
            "--fixtures DIR, with which nothing is contacted"
        )


def check_checkpoint(options: Mapping[str, Any]) -> None:
    """Check that a checkpoint is used with Kafka or a storage; raises UserError."""
    to = instead_of_sink(options)
    for name in ("checkpoint", "resume"):
        if options[name] and to is not None:
            raise UserError(f"--{name} is about Kafka and storages: {to} contacts none")


def check_storage(changefeed: Changefeed, options: Mapping[str, Any]) -> None:
    """Check that a storage sink has no options of Kafka; raises UserError."""
    option = instead_of_sink(options) or ("--consumer-group" if options.get("consumer_group") else None)
    if changefeed.storage is not None and option is not None:
        raise UserError(f"{option} is about Kafka's messages: the sink-uri is that of a storage, which has files")


def to_kafka(plan: Plan, changefeed: Changefeed, options: dict[str, Any]) -> Output:
    """Return the output of a plan, and notes about topics with messages of other runs."""
    from simulator.sinks.kafka.read import offset_ranges

    output: Output = outputs.KafkaOutput(changefeed, plan.topics)
    output.for_plan(plan)
    if options["resume"] or not isinstance(output.settings, KafkaSettings):
        return output
    counts: Counter[str] = Counter()
    for (topic, _), (first, end) in offset_ranges(output.settings, output.destinations.topics).items():
        counts[topic] += end - first
    output.notes += tuple(
        f"topic {topic} has {counted(count, 'message')} already, and those of this run come after them; verify and a consumer "
        "see both: name another topic for this run alone"
        for topic, count in counts.items()
        if count
    )
    return output


def check_plan(options: Mapping[str, Any], planned: Plan) -> None:
    """Check that a checkpoint can hold the progress of the plan, which has no faults then; raises UserError."""
    if options["checkpoint"] is not None and planned.faults:
        name = planned.faults[0].name
        raise UserError(
            f"--checkpoint does not go with faults (the scenario has {name!r}): what one has done so far is nowhere "
            "written down; without --checkpoint it plays"
        )


@contextmanager
def with_checkpoint(
    options: Mapping[str, Any], planned_run: PlannedRun, changefeed: Changefeed, display: Display
) -> Iterator[CheckpointWriter | None]:
    """Yield the checkpoint writer of the run, or None without `--checkpoint`; a run that ends early says how to resume.

    Raises UserError if there is a checkpoint of another run, or none to resume from.
    """
    directory: Path | None = options["checkpoint"]
    if directory is None:
        yield None
        return
    display.stage("looking at what the run is, for --checkpoint")
    try:
        run = checkpoint.identity(
            planned_run.plan, planned_run.seed, planned_run.release, changefeed, planned_run.output.destinations
        )
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from error
    checkpoint_writer = CheckpointWriter.open(directory, run, planned_run.plan, options["resume"])
    try:
        yield checkpoint_writer
    except DeliveryError as error:
        raise DeliveryError(*error.args, checkpoint_writer.resume_hint) from error
    except Stopped:
        display.error(checkpoint_writer.resume_hint)
        raise
    finally:
        checkpoint_writer.file.close()
