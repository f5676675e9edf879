"""`load`: from the options to the summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulator import releases
from simulator.channel import DriverAddress
from simulator.cli import client
from simulator.cli import truth as truths
from simulator.cli.load import truth_at
from simulator.cli.load.metrics import Metrics
from simulator.cli.load.options import check, file_of, master_of, search_of, settings_of
from simulator.cli.load.shown import Wanted, opened, showing, wanted_of
from simulator.cli.load.watch import Setup, Watch
from simulator.cli.run_report import Display
from simulator.cli.run_scenario import output_of
from simulator.engines.spark.calls import spark_calls
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.tasks.progress import Listener, Reporter
from simulator.errors import SimulatorError, uri_without_secrets
from simulator.load import checkpoint, in_process, truth
from simulator.load.checkpoint import LoadCheckpoint
from simulator.load.epochs.epoch import SchemaEpoch
from simulator.load.epochs.epochs import PreparedLoad, prepare_load, schema_epochs
from simulator.load.feed import Feed, Observer
from simulator.load.lag.search import RateSearch
from simulator.load.plan import rates
from simulator.load.plan.load_plan import LoadPlan
from simulator.load.plan.plan_file import load_plan as read_plan
from simulator.load.plan.rates import RateSegments
from simulator.load.scheduler import WindowScheduler, pace_segments
from simulator.load.windows.row_size import measure_bytes_per_row
from simulator.load.windows.sender import WindowSender
from simulator.releases import Release
from simulator.run.checkpoint_file import CheckpointFile
from simulator.run.outputs import Output
from simulator.settings import DEFAULT_RESOLVED_INTERVAL_MS, DEFAULT_SINK_URI, IN_PROCESS
from simulator.signals import Stopped, StopRequest, stop_gracefully
from simulator.signals import defer_signals as defer_signals
from simulator.sinks import SINKS, claim_check
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sources.generate.changes.stream import Stream
from simulator.ticdc.changefeed import Changefeed, load_file

LONGEST_DURATION_MS = 10 * 365 * 86_400_000


@dataclass(frozen=True)
class Loading:
    """What is asked, before anything is contacted."""

    plan: LoadPlan
    options: dict[str, Any]
    changefeed: Changefeed
    release: Release
    prepared: PreparedLoad
    rates: RateSegments
    bytes_per_row: float
    """As measured, where the rate is in bytes; 0 elsewhere."""

    search: RateSearch | None
    """Of --until-lag."""

    rate: str
    """As it was given."""

    @property
    def to_kafka(self) -> bool:
        return not self.options["fixtures"] and not self.options["console"]

    @property
    def master(self) -> str:
        return master_of(self.options)

    @property
    def resolved_interval_ms(self) -> int:
        return self.plan.settings.resolved_interval_ms or DEFAULT_RESOLVED_INTERVAL_MS

    @property
    def duration(self) -> float | None:
        """Seconds."""
        found = self.options["duration_ms"] or self.plan.duration_ms
        return None if found is None else min(found, LONGEST_DURATION_MS) / 1000

    @property
    def checkpoint(self) -> Path:
        return self.options["checkpoint"] or Path(f"{self.plan.name}.checkpoint")


def load(file: Path | None, options: dict[str, Any]) -> None:
    """Plays it, by the options of the command line; raises SimulatorError, one line."""
    plan = read_plan(file_of(file, options["preset"]), settings_of(options))
    if options["at"] is None:
        check(options, plan.settings)
    else:
        truths.check(options)
    wanted = wanted_of(options)
    rate = plan.rate if options["rate"] is None else options["rate"]
    search = search_of(options, rate)
    asked = rates.parse_rate(rate if search is None else f"{search.first:.3f}")
    display = Display()
    if options["at"] is not None:
        known = _loading(plan, options, asked, search, rate)
        truth_at.write(known.prepared, known.changefeed, options["truth"], options["truth_format"], options["at"])
        return
    with opened(wanted) as metrics:
        display.stage("making the plan")
        loading = _loading(plan, options, asked, search, rate)
        display.warn(loading.changefeed.warnings)
        display.warn(loading.prepared.plan.event_filters.warnings)
        if loading.changefeed.codec.large_message_handle_option == "claim-check":
            claim_check.require_writable(loading.changefeed.codec.claim_check_storage_uri)
        shared = loading.master != IN_PROCESS
        place = driver_host(loading.master)
        with ExitStack() as put_away:
            output = put_away.enter_context(
                output_of(loading.prepared.plan, loading.changefeed, options, place, shared)
            )
            display.warn(output.notes)
            ended = _run(loading, output, put_away, wanted, metrics, display)
    if ended is not None:
        raise ended


def _run(
    loading: Loading, output: Output, put_away: ExitStack, wanted: Wanted, metrics: Metrics, display: Display
) -> Stopped | None:
    """The run, and what is shown of it once the output is put away; gives the signal that ended it at a watermark."""
    store, begun = _begun(loading, output)
    kafka = output.settings if isinstance(output.settings, KafkaSettings) else None
    told = _setup(loading, output), wanted, metrics, kafka, loading.search, output.sink == "console"
    ended: Stopped | None = None
    try:
        with showing(*told) as live, stop_gracefully() as signal:
            with put_away.pop_all(), _lost(loading.options, live.watch):
                with Listener(live.update, driver_host(loading.master)) as listener:
                    _sent(loading, output, store, begun, (live.watch.sent,), signal, listener.driver, display)
            if signal.number:
                raise (ended := Stopped(signal.number))
    except Stopped as stopped:
        if stopped is not ended:
            raise
    return ended


@contextmanager
def _lost(options: dict[str, Any], watch: Watch) -> Iterator[None]:
    """Has it told what a run leaves out that ends before its end."""
    try:
        yield
    except (SimulatorError, Stopped):
        if options["fixtures"] is not None:
            watch.lost.append("no fixtures were written")
        if options["truth"] is not None:
            watch.lost.append(truths.NOT_WRITTEN)
        raise


def _loading(
    plan: LoadPlan, options: dict[str, Any], asked: rates.RateSpec, search: RateSearch | None, rate: str
) -> Loading:
    settings = plan.settings
    release = releases.find(settings.release or releases.DEFAULT, settings.architecture)
    changefeed = load_file(settings.sink_uri or DEFAULT_SINK_URI, settings.config, release)
    opened = prepare_load(plan, (), changefeed, release, settings.start_ts)
    size = measure_bytes_per_row(opened, changefeed) if asked.has_bytes else 0.0
    found = rates.resolve_rates(asked, plan.rows_per_second, size)
    opened = replace(opened, stream=Stream(plan.model, found.segments))
    return Loading(plan, options, changefeed, release, opened, found, size, search, rate)


def _setup(loading: Loading, output: Output) -> Setup:
    plan, to = loading.plan, output.destinations
    return Setup(
        plan.name,
        tuple(f"{table.schema}.{table.name}" for table in plan.model.tables),
        dict(zip(to.topics, to.counts, strict=True)),
        output.options.protocol,
        loading.release.name,
        loading.release.architecture,
        plan.model.seed,
        loading.rate,
        loading.resolved_interval_ms,
        _driver(loading, output),
        "in process" if loading.master == IN_PROCESS else f"Spark, {loading.master}",
        uri_without_secrets(plan.settings.sink_uri or DEFAULT_SINK_URI) if loading.to_kafka else output.sink,
        loading.duration,
        loading.options["consumer_group"],
    )


def _driver(loading: Loading, output: Output) -> str:
    """What takes records to where they go."""
    if isinstance(output.settings, KafkaSettings):
        return client.told(output.settings)
    return "files" if loading.options["fixtures"] else "the console"


def _begun(loading: Loading, output: Output) -> tuple[CheckpointFile | None, LoadCheckpoint]:
    """Where the run begins, or goes on; raises UserError where it may not."""
    opened, to = loading.prepared, output.destinations
    identity = checkpoint.load_identity(
        loading.plan,
        loading.rates.segments,
        loading.release,
        loading.changefeed,
        opened.start_ms,
        dict(zip(to.topics, to.counts, strict=True)),
    )
    if not loading.to_kafka:
        return None, LoadCheckpoint(identity, opened.start_ms)
    if loading.options["resume"]:
        return checkpoint.resume(loading.checkpoint, identity)
    return checkpoint.begin(loading.checkpoint, identity, opened.start_ms)


def _sent(
    loading: Loading,
    output: Output,
    store: CheckpointFile | None,
    begun: LoadCheckpoint,
    observers: Sequence[Observer],
    signal: StopRequest,
    driver: DriverAddress,
    display: Display,
) -> None:
    """Sends until the end, and writes the truth that is asked for."""
    opened = loading.prepared
    control = WindowScheduler(
        pace_segments(loading.rates),
        opened.stream.timetable.rows_before,
        loading.resolved_interval_ms,
        loading.duration,
        bool(loading.options["fixtures"]),
        loading.search,
        loading.bytes_per_row,
    )
    reporter = Reporter(driver)
    sink = SINKS[output.sink](output.settings, output.destinations.topics, reporter.waiting)
    reported = (_reporting(epoch, driver) for epoch in schema_epochs(opened, output, begun.acknowledged_ms))
    feed = Feed(reported, control, sink, begun, store, observers, signal, reporter=reporter)
    try:
        if loading.master == IN_PROCESS:
            in_process.run(feed, WindowSender(sink, reporter))
        else:
            _on_spark(loading.master, feed, output, display)
    finally:
        reporter.done(())
        feed.close()
    if loading.options["truth"] is not None:
        display.stage("writing the truth")
        ms = feed.checkpoint.acknowledged_ms
        directory, format = loading.options["truth"], loading.options["truth_format"]
        truth.write(opened, output, loading.changefeed, ms, directory, format)


def _reporting(epoch: SchemaEpoch, driver: DriverAddress) -> SchemaEpoch:
    """Whose tasks say how far they are."""
    return replace(epoch, spec=replace(epoch.spec, progress=driver))


def _on_spark(master: str, feed: Feed, output: Output, display: Display) -> None:
    """A second signal ends it."""
    display.stage("starting Spark")
    with defer_signals():
        from simulator.engines.spark import session as spark
        from simulator.load.streaming import query

    def work() -> None:
        query.run(spark.session(master), feed, output.destinations.total, lambda said: display.warn((said,)))

    with spark_calls() as start:
        start(work).result()
