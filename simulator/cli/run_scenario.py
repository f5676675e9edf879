"""The commands `diff` and `run`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from simulator import releases
from simulator.channel import DriverHost
from simulator.cli import sending, truth
from simulator.cli.run_report import Display, Summary
from simulator.cli.sending import check_sink, check_storage, to_kafka
from simulator.cli.truth import TruthRequest
from simulator.cli.user_files import changefeed_inputs, check_places, is_output_taken
from simulator.engines import in_process
from simulator.engines.spark import import_spark, spark_calls
from simulator.engines.spark.master import chosen_master, driver_host
from simulator.engines.tasks.progress import Listener
from simulator.engines.work import Engine
from simulator.errors import DeliveryError, UserError
from simulator.releases import Release
from simulator.run import plan
from simulator.run.execute import PlannedRun
from simulator.run.outputs import FilesOutput, Output, StorageOutput, ended
from simulator.run.plan import Plan
from simulator.run.scenario import Scenario
from simulator.settings import AUTO, IN_PROCESS, ON_SPARK, Settings, merged
from simulator.signals import Stopped, defer_signals
from simulator.sinks.console import ConsoleServer
from simulator.sinks.external_storage import require_claim_checks_writable
from simulator.sinks.records import require_delivered
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.codecs.schema_registry import SchemaManager
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules
from simulator.truth import PlayedRun

if TYPE_CHECKING:
    from simulator.truth.expected_rows import TruthEngine


@dataclass(frozen=True)
class Engines:
    """The engines of a run and of its truth."""

    run: Engine
    truth: TruthEngine


def run_scenario(scenario: Scenario, options: dict[str, Any], command: str, played: str) -> None:
    """Run a scenario with the options of the command line; `played` is its name in a truth. Raises SimulatorError."""
    options_of_settings = {name: options[name] for name in Settings.__dataclass_fields__}
    settings = merged(Settings(**options_of_settings), scenario.settings)
    truth.check(options)
    if options["at"] is None:
        check_sink(settings.sink_uri, options)
    release = releases.find(settings.release or releases.DEFAULT, settings.architecture)
    changefeed = load_file(settings.sink_uri, settings.config, release, time_zone=settings.tz or "")
    check_storage(changefeed, options)
    sending.check_checkpoint(options)
    inputs = (*scenario.inputs, *changefeed_inputs(settings.config, changefeed))
    check_places(options, ("summary", "fixtures", "truth", "checkpoint"), inputs, changefeed.storage)
    script = scenario.run_spec(settings, options.get("first"), options.get("last"))
    display = Display()
    display.warn(changefeed.warnings)
    began = time.monotonic()
    display.stage("reading the snapshots' tables" if scenario.has_snapshots else "playing the statements")
    planned = plan.plan(script, changefeed, release)
    sending.check_plan(options, planned)
    display.warn(planned.event_filters.warnings)
    display.note(planned.notes)
    rules = changefeed_rules(changefeed, release)
    truth_request = TruthRequest(PlayedRun(command, played, planned, rules, script.seed), options)
    if options["at"] is not None:
        with _engines(_master(options["master"], planned), options["master"], planned, display) as engines:
            truth_request.show(engines.truth, display)
        return
    truth_request.check()
    _check_expected(planned, changefeed, release, script.seed, display)
    if changefeed.codec.large_message_handle_option == "claim-check":
        require_claim_checks_writable(changefeed.codec.claim_check_storage_uri)
    master = _master(options["master"], planned)
    place = driver_host(master)
    with ExitStack() as stack:
        output = stack.enter_context(output_of(planned, rules, options, place))
        display.warn(output.notes)
        planned_run = PlannedRun(planned, output, release, script.seed, script.speed)
        checkpoint_writer = stack.enter_context(sending.with_checkpoint(options, planned_run, changefeed, display))
        listener = stack.enter_context(Listener(display.update, place))
        try:
            reads = bool(planned.snapshot_pairs)
            with _engines(master, options["master"], planned, display) as engines:
                with display.following(reads):
                    account = replace(planned_run, progress=listener.driver).send(
                        engines.run, checkpoint_writer, options["truth"] is not None
                    )
                if account.stopped is None and all(each.error is None for each in account.delivered):
                    truth_request.write(engines.truth, output, account, display)
                else:
                    truth_request.missed(display)
        except (Stopped, DeliveryError):
            display.stopped(listener.progress, planned, output)
            truth_request.missed(display)
            raise
        require_delivered(account.delivered)
        display.warn([f"fault {name}: nothing came that it waits for" for name in account.unmet])
        if account.ended:
            number, watermark = account.ended
            display.ended(watermark)
            raise Stopped(number)
        if checkpoint_writer is not None and account.stopped is None:
            checkpoint_writer.file.end()
    summary = Summary(planned, output, account, time.monotonic() - began)
    try:
        display.finish(summary, is_output_taken(options))
    finally:
        if options["summary"] is not None:
            summary.write(options["summary"])
    if account.stopped is not None:
        raise account.stopped[1]
    if planned.stopped is not None:
        raise planned.stopped


def _check_expected(planned: Plan, changefeed: Changefeed, release: Release, seed: int, display: Display) -> None:
    """Check the scenario's expectations before anything is sent; raises ExpectationError."""
    if not planned.expected:
        return
    from simulator.reader.event_lines import MessageReader  # it takes long, and few runs expect something
    from simulator.run import expectations
    from simulator.run.execute import rehearse, rehearse_files

    expectations.require_countable(changefeed, planned.expected)
    sent = expectations.SentEvents()
    if any(each.expectation.about_messages for each in planned.expected):
        display.stage("playing it in this process, for what is expected")
        if changefeed.storage is not None:
            sent = expectations.of_files(rehearse_files(planned, changefeed, release, seed))
        else:
            messages, injections, schemas = rehearse(planned, changefeed, release, seed)
            reader = MessageReader(changefeed.codec.protocol)
            sent = expectations.of_messages(messages, reader, injections, schemas)
    expectations.check(planned.expected, planned.timeline.start_ms, sent, planned.jobs)


def _master(master: str, planned: Plan) -> str:
    """Return the Spark master: faults run in this process, and with `auto` so do small snapshots."""
    if planned.faults and master not in (AUTO, IN_PROCESS):
        raise UserError(
            f"--master {master}: the run has faults ({planned.faults[0].name}), and these are played in this process: "
            f"leave --master out, or say {IN_PROCESS}"
        )
    small = planned.input_bytes <= in_process.SMALL_BYTES
    return chosen_master(master, small or bool(planned.faults))


@contextmanager
def _engines(master: str, asked: str, planned: Plan, display: Display) -> Iterator[Engines]:
    """Yield the engines of this process, or of Spark; what `auto` has chosen for snapshots is told."""
    if master == IN_PROCESS:
        if asked == AUTO and planned.snapshot_pairs and not planned.faults:
            most = f"{in_process.SMALL_BYTES / 1e6:.0f} MB"
            display.note([f"snapshots of up to {most} are compared without Spark (--master {ON_SPARK!r} uses it)"])
        yield Engines(in_process.run, _write_truth)
        return
    display.stage("starting Spark")
    spark = import_spark()
    with spark_calls() as start:
        session = start(spark.session, master, planned.input_bytes)
        with defer_signals():
            from simulator.engines import on_spark  # while Java starts
            from simulator.truth import on_spark as truth_on_spark  # while Java starts

        def beside(*call: Any) -> Any:
            return start(*call).result()

        yield Engines(
            partial(beside, on_spark.run, session.result()), partial(beside, truth_on_spark.write, session.result())
        )


def _write_truth(*call: Any) -> Counter[int]:
    """Write the rows of a truth in this process."""
    from simulator.truth.expected_rows import write_in_process  # it takes long, and few runs write a truth

    return write_in_process(*call)


@contextmanager
def output_of(
    planned: Plan, rules: ChangefeedRules, options: dict[str, Any], place: DriverHost, shared: bool = False
) -> Iterator[Output]:
    """Yield the output of the options; `shared` as with FilesOutput."""
    changefeed = rules.changefeed
    if options["fixtures"] is not None:
        directory, format = options["fixtures"], options["fixtures_format"]
        with ExitStack() as undo:
            with defer_signals():
                output = undo.enter_context(ended(FilesOutput(changefeed, directory, format, shared=shared)))
            yield output.for_plan(planned)
    elif options["console"]:
        schemas = SchemaManager()
        with ConsoleServer(partial(show_messages, schemas=schemas), place) as server:
            try:
                output = Output(changefeed, "console", server.driver)
                output.schemas = schemas
                yield output.for_plan(planned)
            finally:
                if server.refused is not None:
                    raise server.refused
    elif changefeed.storage is not None:
        yield StorageOutput(changefeed, rules.release).for_plan(planned)
    else:
        yield to_kafka(planned, changefeed, options)


def show_messages(batch: Any, schemas: SchemaManager) -> None:
    """Print messages decoded, one line per event."""
    from simulator.reader.event_lines import lines  # it takes long, and few runs print their messages
    from simulator.reader.records import records_of_batch

    sys.stdout.write("".join(f"{line}\n" for line in lines(records_of_batch(batch), schemas=schemas.texts)))
    sys.stdout.flush()
