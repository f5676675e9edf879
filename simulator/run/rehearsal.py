"""A plan played in this process before it is sent, for what a scenario expects of its messages or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from simulator.consumer.storage.directory import StorageDirectory
from simulator.consumer.storage.events import FileEvent, events
from simulator.engines import in_process
from simulator.engines.tasks.progress import Reporter
from simulator.faults.pipeline import InjectedFaults, Injection
from simulator.releases import Release
from simulator.run.execute import PlannedRun
from simulator.run.outputs import MemoryOutput, Output, StorageOutput
from simulator.run.plan import Plan
from simulator.sinks.external_storage import ExternalStorage
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed


def rehearse(
    plan: Plan, changefeed: Changefeed, release: Release, seed: int
) -> tuple[list[Message], Sequence[Injection], Mapping[int, str]]:
    """Play a plan into memory before it is sent; return all messages, the faults injected, and the schemas that
    messages name, by id. Raises SimulatorError.

    The messages equal those of the run, except if a broker allows only smaller messages.
    """
    messages: list[Message] = []
    output = MemoryOutput(changefeed, messages)
    injections = _play(plan, output, release, seed)
    schemas = {number: schema.text for number, schema in output.schemas.known.items()}
    return messages, injections, schemas


def rehearse_files(plan: Plan, changefeed: Changefeed, release: Release, seed: int) -> list[FileEvent]:
    """Play a plan into a temporary directory before it is written to its storage; return the events of all files.

    CSV has the commit-ts of rows there, even if the changefeed leaves it out. Raises SimulatorError.
    """
    assert changefeed.storage is not None
    codec = changefeed.codec
    with TemporaryDirectory() as directory:
        storage = replace(changefeed.storage, uri=Path(directory).as_uri())
        timed = replace(codec, csv=replace(codec.csv, include_commit_ts=True))
        changefeed = replace(changefeed, storage=storage, codec=timed)
        output = StorageOutput(changefeed, release)
        _play(plan, output, release, seed)
        return list(events(StorageDirectory(ExternalStorage(storage.uri, "sink-uri"), changefeed)))


def _play(plan: Plan, output: Output, release: Release, seed: int) -> Sequence[Injection]:
    """Play a plan into an output of this process, and close it; return the faults injected."""
    faults = InjectedFaults(plan.faults, seed)
    work = replace(PlannedRun(plan, output.for_plan(plan), release, seed).work(), faults=faults)
    sent = in_process.ordered_task(work, True).into(output.sink, Reporter(None))
    output.close()
    if sent.stopped is not None:
        raise sent.stopped[1]
    return faults.injections
