"""The command `load`. Its options are checked before a broker or a file is touched."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simulator import releases, tso
from simulator.channel import DriverAddress
from simulator.cli import truth as truths
from simulator.cli.load.display import ReportOptions, open_metrics, read_report_options, show_progress
from simulator.cli.load.monitor import LoadMonitor, Metrics, Setup
from simulator.cli.options import instead_of_sink
from simulator.cli.run_report import Display
from simulator.cli.run_scenario import output_of
from simulator.cli.sending import check_checkpoint, check_sink, check_storage
from simulator.cli.user_files import changefeed_inputs, check_places, is_output_taken
from simulator.columns.hashing import sums_by_kind
from simulator.engines.spark import import_spark, spark_calls
from simulator.engines.spark.master import chosen_master, driver_host
from simulator.engines.tasks.progress import Listener, Reporter
from simulator.errors import SimulatorError, UserError, uri_without_secrets
from simulator.load import rates, truth
from simulator.load.epochs import PreparedLoad, prepare_load, schema_epochs
from simulator.load.epochs.possible import first_impossible, require_possible
from simulator.load.feed import Feed, LoadCheckpoint, Observer, load_identity
from simulator.load.lag_search import RateSearch
from simulator.load.load_plan import LoadPlan
from simulator.load.plan_file import load_plan as read_plan
from simulator.load.rates import RateSegments
from simulator.load.scheduler import WindowScheduler
from simulator.load.sender import measure_bytes_per_row
from simulator.releases import Release
from simulator.run import checkpoint, scenario
from simulator.run.checkpoint import CheckpointFile
from simulator.run.outputs import Output
from simulator.settings import DEFAULT_RESOLVED_INTERVAL_MS, IN_PROCESS, Settings
from simulator.signals import Stopped, StopRequest, defer_signals, stop_gracefully
from simulator.sinks import SINKS
from simulator.sinks.external_storage import require_claim_checks_writable
from simulator.sinks.kafka import KafkaSettings
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.truth.directory import TruthFiles

LONGEST_DURATION_MS = 10 * 365 * 86_400_000

WRITTEN = ("summary", "report", "fixtures", "truth", "checkpoint")
"""Options with a file or directory that is written."""

SEARCH_FROM = 1000.0
"""The initial rows per second of --until-lag without --rate."""

GENERATION = 10_000
"""Threshold of Python's garbage collector while it sends: each checkpoint leaves cycles (of `json`'s encoder, 3 kB), which
would stay for more than an hour with the threshold of short commands."""


def file_of(file: Path | None, preset: str | None) -> Path:
    """Return the plan's file; raises UserError unless there is exactly one."""
    if preset is not None and file is None:
        return scenario.preset_file(preset)
    if file is None or preset is not None:
        known = ", ".join(scenario.preset_names())
        raise UserError(f"a plan is expected, and one alone: PLAN.toml, or --preset with one of {known}")
    return file


def print_plan(file: Path | None, preset: str | None) -> None:
    """Print the text of the plan; raises UserError if it is not a plan."""
    sys.stdout.write(read_plan(file_of(file, preset)).text)


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the options that plan files have, too."""
    return Settings(**{name: options[name] for name in Settings.__dataclass_fields__ if name in options})


def master_of(options: dict[str, Any]) -> str:
    """Return the Spark master; `auto` is one process for the console, to print messages in order."""
    master: str = options["master"]
    return chosen_master(master, bool(options["console"]))


def check(options: dict[str, Any], settings: Settings) -> None:
    """Check that the options fit each other, given their settings merged with the plan's; raises UserError."""
    check_sink(settings.sink_uri, options)
    if options["console"] and master_of(options) != IN_PROCESS:
        raise UserError(f"--console needs --master {IN_PROCESS}: one process shows all messages in their order")
    if options["fixtures"] and options["fixtures_format"] == "parquet" and master_of(options) != IN_PROCESS:
        raise UserError(
            f"--fixtures-format parquet needs --master {IN_PROCESS}: several processes cannot write one such file"
        )
    check_checkpoint(options)
    truths.check(options)


def search_of(options: dict[str, Any], rate: str | None) -> RateSearch | None:
    """Return the search of --until-lag, which begins with the given rate; raises UserError."""
    limit, group = options["until_lag"], options["consumer_group"]
    if group is not None and (to := instead_of_sink(options)) is not None:
        raise UserError(f"--consumer-group: a group has lag on Kafka only, not with {to}")
    if limit is None:
        return None
    most = math.inf if options["max_rate"] is None else float(options["max_rate"])
    if rate is None or rate == rates.MAX:
        return RateSearch(limit, min(SEARCH_FROM, most), most)
    rate_setting = rates.parse_rate(rate)
    first = rate_setting.entries[0].first
    if len(rate_setting.entries) > 1 or rate_setting.burst is not None or first.unit != rates.ROWS:
        raise UserError(f"--until-lag begins with a number of rows/s and changes that itself, not with --rate {rate!r}")
    if first.number > most:
        raise UserError(f"--until-lag begins with {first.number:,.0f} rows/s, above --max-rate {most:,.0f}")
    return RateSearch(limit, first.number, most)


@dataclass(frozen=True)
class LoadRequest:
    """A load run as the user requests it, before anything is contacted."""

    plan: LoadPlan
    options: dict[str, Any]
    prepared: PreparedLoad
    rates: RateSegments
    bytes_per_row: float
    """As measured, where the rate is in bytes; 0 elsewhere."""

    search: RateSearch | None
    """Of --until-lag."""

    rate: str
    """As it was given."""

    @property
    def changefeed(self) -> Changefeed:
        return self.prepared.rules.changefeed

    @property
    def release(self) -> Release:
        return self.prepared.rules.release

    @property
    def can_resume(self) -> bool:
        """Whether what was sent stays where another run can go on: in Kafka or a storage."""
        return instead_of_sink(self.options) is None

    @property
    def master(self) -> str:
        return master_of(self.options)

    @property
    def resolved_interval_ms(self) -> int:
        interval_ms = self.plan.settings.resolved_interval_ms or DEFAULT_RESOLVED_INTERVAL_MS
        return self.changefeed.checkpoint_interval_ms(interval_ms)

    @property
    def duration(self) -> float | None:
        """The duration in seconds."""
        ms = self.options["duration_ms"] or self.plan.duration_ms
        return None if ms is None else min(ms, LONGEST_DURATION_MS) / 1000

    @property
    def until_ms(self) -> int | None:
        """The simulated millisecond at which it ends; None if it is not known."""
        known = self.options["fixtures"] or all(self.rates.paced) and self.search is None
        return None if self.duration is None or not known else round(1000 * self.duration)

    @property
    def checkpoint(self) -> Path:
        return self.options["checkpoint"] or Path(f"{self.plan.name}.checkpoint")


def load(file: Path | None, options: dict[str, Any]) -> None:
    """Run the command; raises SimulatorError."""
    plan = read_plan(file_of(file, options["preset"]), settings_of(options))
    if options["at"] is None:
        check(options, plan.settings)
    else:
        truths.check(options)
    check_places(options, WRITTEN, [("the plan", plan.file), ("--config", plan.settings.config)])
    report_options = read_report_options(options)
    rate = plan.rate if options["rate"] is None else options["rate"]
    search = search_of(options, rate)
    rate_setting = rates.parse_rate(rate if search is None else f"{search.first:.3f}")
    display = Display()
    if options["at"] is not None:
        _write_truth_at(_read_request(plan, options, rate_setting, search, rate), options["at"])
        return
    with open_metrics(report_options) as metrics:
        display.stage("making the plan")
        request = _read_request(plan, options, rate_setting, search, rate)
        display.warn(request.changefeed.warnings)
        display.warn(request.prepared.plan.event_filters.warnings)
        if request.until_ms is None:
            display.warn(first_impossible(request.prepared, LONGEST_DURATION_MS))
        else:
            require_possible(request.prepared, request.until_ms)
        if request.changefeed.codec.large_message_handle_option == "claim-check":
            require_claim_checks_writable(request.changefeed.codec.claim_check_storage_uri)
        shared = request.master != IN_PROCESS
        with ExitStack() as put_away:
            prepared, place = request.prepared, driver_host(request.master)
            opened = output_of(prepared.plan, prepared.rules, options, place, shared)
            output = put_away.enter_context(opened)
            display.warn(output.notes)
            ended = LoadRun(request, output, display).run(put_away, report_options, metrics)
    if ended is not None:
        raise ended


@contextmanager
def _name_lost_outputs(options: dict[str, Any], monitor: LoadMonitor) -> Iterator[None]:
    """Note the outputs that are missing if the run ends early."""
    try:
        yield
    except (SimulatorError, Stopped):
        if options["fixtures"] is not None:
            monitor.lost.append("no fixtures were written")
        if options["truth"] is not None:
            monitor.lost.append(truths.NOT_WRITTEN)
        raise


def _read_request(
    plan: LoadPlan, options: dict[str, Any], rate_setting: rates.RateSpec, search: RateSearch | None, rate: str
) -> LoadRequest:
    settings = plan.settings
    release = releases.find(settings.release or releases.DEFAULT, settings.architecture)
    changefeed = load_file(settings.sink_uri, settings.config, release, time_zone=settings.tz or "")
    check_storage(changefeed, options)
    inputs = (("the plan", plan.file), *changefeed_inputs(settings.config, changefeed))
    check_places(options, WRITTEN, inputs, changefeed.storage)
    prepared = prepare_load(plan, (), changefeed, release, plan.settings.start_ts)
    size = measure_bytes_per_row(prepared) if rate_setting.has_bytes else 0.0
    resolved = rates.resolve_rates(rate_setting, plan.rows_per_second, size)
    return LoadRequest(plan, options, prepared.at_rate(resolved.segments), resolved, size, search, rate)


def _write_truth_at(request: LoadRequest, at: str) -> None:
    """Write the rows at a watermark, computed from plan, seed and rate; raises UserError for other TSOs."""
    prepared, options = request.prepared, request.options
    ts = truths.watermark(at, prepared.start_ms)
    if not truths.between_milliseconds(ts):
        raise truths.not_between(ts)
    output, ms = Output(request.changefeed).for_plan(prepared.plan), tso.physical(ts) - prepared.start_ms
    rows = truth.write(prepared, output, ms, TruthFiles(options["truth"], options["truth_format"]))
    truths.show(rows, options["truth"], ts)


@dataclass(frozen=True)
class LoadRun:
    """A load run whose output is open."""

    request: LoadRequest
    output: Output
    display: Display

    def run(self, put_away: ExitStack, report_options: ReportOptions, metrics: Metrics) -> Stopped | None:
        """Send and show the run; return the signal that stopped it at a watermark."""
        request, output = self.request, self.output
        store, begun = self._checkpoint()
        if begun.acknowledged_ms:
            output.resume(begun.watermark)
            if request.until_ms is not None:
                require_possible(request.prepared, begun.acknowledged_ms + request.until_ms)
        kafka = output.settings if isinstance(output.settings, KafkaSettings) else None
        stderr = is_output_taken(request.options)
        shown = show_progress(self._setup(), report_options, metrics, kafka, request.search, stderr)
        ended: Stopped | None = None
        try:
            with shown as progress_line, stop_gracefully() as signal:
                lost = _name_lost_outputs(request.options, progress_line.monitor)
                with put_away.pop_all(), lost, Listener(progress_line.update, driver_host(request.master)) as listener:
                    observers = (progress_line.monitor.sent,)
                    self._send(store, begun, observers, signal, listener.driver)
                if signal.number:
                    raise (ended := Stopped(signal.number))
        except Stopped as stopped:
            if stopped is not ended:
                raise
        return ended

    def _setup(self) -> Setup:
        request, output = self.request, self.output
        plan, to = request.plan, output.destinations
        return Setup(
            plan.name,
            tuple(f"{table.schema}.{table.name}" for table in plan.model.tables),
            dict(zip(to.topics, to.counts, strict=True)),
            output.options.protocol,
            request.release.name,
            request.release.architecture,
            plan.model.seed,
            request.rate,
            request.resolved_interval_ms,
            self._driver(),
            "in process" if request.master == IN_PROCESS else f"Spark, {request.master}",
            output.name if instead_of_sink(request.options) else uri_without_secrets(request.changefeed.sink_uri),
            request.duration,
            request.options["consumer_group"],
            "message" if request.changefeed.storage is None else "file",
            not request.options["fixtures"],
        )

    def _driver(self) -> str:
        """Return the name of the client or other destination."""
        if isinstance(self.output.settings, KafkaSettings):
            return f"kafka-python {version('kafka-python')}"
        if self.output.storage is not None:
            return "the storage sink"
        return "files" if self.request.options["fixtures"] else "the console"

    def _checkpoint(self) -> tuple[CheckpointFile | None, LoadCheckpoint]:
        """Return the checkpoint from which the run begins or resumes; raises UserError if it may not."""
        request = self.request
        identity = load_identity(request.prepared, self.output.destinations)
        first = LoadCheckpoint(identity, request.prepared.start_ms, sums=sums_by_kind({}))
        if not request.can_resume:
            return None, first
        if request.options["resume"]:
            return checkpoint.resume(request.checkpoint, identity, LoadCheckpoint)
        return checkpoint.begin(request.checkpoint, first), first

    def _send(
        self,
        store: CheckpointFile | None,
        begun: LoadCheckpoint,
        observers: Sequence[Observer],
        signal: StopRequest,
        driver: DriverAddress,
    ) -> None:
        """Send until the end, then write the truth."""
        gc.set_threshold(GENERATION)
        request, output, prepared = self.request, self.output, self.request.prepared
        control = WindowScheduler(
            request.rates,
            prepared.stream.timetable.rows_before,
            request.resolved_interval_ms,
            request.duration,
            bool(request.options["fixtures"]),
            request.search,
            request.bytes_per_row,
        )
        reporter = Reporter(driver)
        sink = SINKS[output.name](output.settings, output.destinations.topics, reporter.waiting)
        epochs = schema_epochs(prepared, output, begun.acknowledged_ms)
        summed = begun.sums is not None and request.options["truth"] is not None
        begun = begun if summed else replace(begun, sums=None)
        reported = (replace(epoch, spec=replace(epoch.spec, progress=driver, sums=summed)) for epoch in epochs)
        feed = Feed(reported, control, sink, begun, store, observers, signal, reporter=reporter)
        try:
            if request.master == IN_PROCESS:
                feed.send_all()
            else:
                _on_spark(request.master, feed, output, self.display)
        finally:
            reporter.done(())
            feed.close()
        if request.options["truth"] is not None:
            self.display.stage("writing the truth")
            files = TruthFiles(request.options["truth"], request.options["truth_format"])
            truth.write(prepared, output, feed.checkpoint.acknowledged_ms, files, feed.sums)


def _on_spark(master: str, feed: Feed, output: Output, display: Display) -> None:
    """Run the feed on Spark; a second signal stops it."""
    display.stage("starting Spark")
    spark = import_spark()
    with defer_signals():
        from simulator.load import on_spark

    def work() -> None:
        session = spark.session(master, reads=False)
        on_spark.run(session, feed, output.destinations.total, lambda warning: display.warn((warning,)))

    with spark_calls() as start:
        start(work).result()
