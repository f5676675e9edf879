"""`load`: from the options to the summary."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulator import releases
from simulator.cli import load_end, load_summary
from simulator.cli.load_live import Live
from simulator.cli.load_options import IN_PROCESS, check, file_of, first_rate, master_of, settings_of
from simulator.cli.load_watch import Setup, Watch
from simulator.cli.run_report import Display
from simulator.cli.run_scenario import show_messages
from simulator.errors import DeliveryError, UserError, shown
from simulator.releases import Release
from simulator.run import outputs, storage
from simulator.run.engines.address import place_of
from simulator.run.load import checkpoint, in_process, rates, truth
from simulator.run.load.checkpoint import Checkpoint, Store
from simulator.run.load.control import Control, held
from simulator.run.load.feed import Feed
from simulator.run.load.lag import Search
from simulator.run.load.lag_watch import LagWatch
from simulator.run.load.measured import bytes_per_row
from simulator.run.load.plan import LoadPlan
from simulator.run.load.plan_file import load as read_plan
from simulator.run.load.rates import Rates
from simulator.run.load.stretches import Opening, opening, stretches
from simulator.run.outputs import Output
from simulator.run.settings import DEFAULT_RESOLVED_INTERVAL_MS, DEFAULT_SINK_URI
from simulator.signals import Asked, Stopped, gently, held as signals_held
from simulator.sinks import SINKS
from simulator.sinks.console import ConsoleServer
from simulator.sinks.driver import Place
from simulator.sinks.records import Sink
from simulator.sources.generate.stream import Stream
from simulator.ticdc.changefeed import Changefeed, load_file

LONGEST_DURATION_MS = 10 * 365 * 86_400_000


@dataclass(frozen=True)
class Loading:
    """What is asked, before anything is contacted."""

    plan: LoadPlan
    options: dict[str, Any]
    changefeed: Changefeed
    release: Release
    opening: Opening
    rates: Rates
    bytes_per_row: float
    """As measured, where the rate is in bytes; 0 elsewhere."""

    search: Search | None
    """Of --until-lag."""

    @property
    def rate(self) -> str:
        return self.options["rate"] or self.plan.rate

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
    check(options, plan.settings)
    if options["truth"] is not None:
        truth.check(options["truth"])
    display = Display()
    display.stage("making the plan")
    loading = _loading(plan, options)
    display.warn(loading.changefeed.warnings)
    display.warn(loading.opening.plan.event_filters.warnings)
    if loading.changefeed.codec.large_message_handle_option == "claim-check":
        storage.require_writable(loading.changefeed.codec.claim_check_storage_uri)
    with _output(loading, place_of(loading.master)) as output:
        display.warn(output.notes)
        _run(loading, output, display)


def _loading(plan: LoadPlan, options: dict[str, Any]) -> Loading:
    settings = plan.settings
    release = releases.find(settings.release or releases.DEFAULT, settings.architecture)
    changefeed = load_file(settings.sink_uri or DEFAULT_SINK_URI, settings.config, release)
    text, search = options["rate"] or plan.rate, None
    asked = rates.read(text)
    if options["until_lag"]:
        search = Search(options["until_lag"], first_rate(text, bool(options["rate"])))
        asked = rates.read(f"{search.first:.3f}")
    opened = opening(plan, (), changefeed, release, settings.start_ts)
    size = bytes_per_row(opened, changefeed) if asked.of_bytes else 0.0
    found = rates.rates(asked, plan.rows_per_second, size)
    opened = replace(opened, stream=Stream(plan.model, found.segments))
    return Loading(plan, options, changefeed, release, opened, found, size, search)


@contextmanager
def _output(loading: Loading, place: Place) -> Iterator[Output]:
    options, plan, changefeed = loading.options, loading.opening.plan, loading.changefeed
    if options["fixtures"] is not None:
        shared = loading.master != IN_PROCESS
        with outputs.to_fixtures(
            plan, changefeed, options["fixtures"], options["fixtures_format"], shared,
        ) as output:
            yield output
    elif options["console"]:
        with ConsoleServer(show_messages, place) as server:
            try:
                yield outputs.to_console(plan, changefeed, server.driver)
            finally:
                if server.refused is not None:
                    raise server.refused
    else:
        yield outputs.to_kafka(plan, changefeed, not options["plain_producer"])


def _run(loading: Loading, output: Output, display: Display) -> None:
    """The run itself, and what is said of it at its end, however it ends."""
    watch = Watch(_setup(loading, output))
    store, begun = _begun(loading, output)
    with ExitStack() as open_until_end:
        if loading.options["metrics_port"] is not None:
            from simulator.cli.load_metrics import served

            open_until_end.enter_context(served(watch, loading.options["metrics_port"]))
        feed, ended = None, ""
        asked = Asked()
        try:
            live = Live(watch)
            open_until_end.enter_context(_lag(loading, output, watch))
            with gently() as asked, live.following():
                feed = _fed(loading, output, store, begun, watch, asked, display)
        except (DeliveryError, Stopped) as error:
            ended = str(error)
            raise
        finally:
            if asked.number:
                ended = str(Stopped(asked.number))
            watch.finish(ended, loading.search.verdict if loading.search else None)
            _told(loading, output, watch)
    if loading.options["truth"] is not None:
        _write_truth(loading, output, feed.checkpoint.acknowledged_ms, display)
    if asked.number:
        raise Stopped(asked.number)


def _setup(loading: Loading, output: Output) -> Setup:
    plan, to = loading.plan, output.destinations
    return Setup(
        plan.name, tuple(f"{table.schema}.{table.name}" for table in plan.model.tables),
        dict(zip(to.topics, to.counts, strict=True)), output.options.protocol, loading.release.name,
        loading.release.architecture, plan.model.seed, loading.rate, loading.resolved_interval_ms,
        _driver(loading), "in process" if loading.master == IN_PROCESS else f"Spark, {loading.master}",
        shown(plan.settings.sink_uri or DEFAULT_SINK_URI) if loading.to_kafka else output.sink,
        loading.duration, loading.options["consumer_group"])


def _driver(loading: Loading) -> str:
    """What takes records to where they go."""
    if not loading.to_kafka:
        return "files" if loading.options["fixtures"] else "the console"
    from importlib.metadata import version

    how = "record by record" if loading.options["plain_producer"] else "prepared batches"
    return f"kafka-python {version('kafka-python')}, {how}"


def _begun(loading: Loading, output: Output) -> tuple[Store | None, Checkpoint]:
    """Where the run begins, or goes on; raises UserError where it may not."""
    opened, to = loading.opening, output.destinations
    identity = checkpoint.identity(
        loading.plan, loading.rates.segments, loading.release, loading.changefeed, opened.start_ms,
        dict(zip(to.topics, to.counts, strict=True)))
    if not loading.to_kafka:
        return None, Checkpoint(identity, opened.start_ms)
    if loading.options["resume"]:
        return checkpoint.resume(loading.checkpoint, identity)
    return checkpoint.begin(loading.checkpoint, identity, opened.start_ms)


@contextmanager
def _lag(loading: Loading, output: Output, watch: Watch) -> Iterator[None]:
    """Looks at the consumer group's lag, where one is named."""
    group = loading.options["consumer_group"]
    if group is None:
        yield
        return
    from simulator.sinks.kafka.lag import GroupOffsets

    settings: Any = output.settings
    offsets = GroupOffsets(settings, group, watch.setup.topics)
    try:
        with LagWatch(offsets.ask, watch.sampled, loading.search):
            yield
    finally:
        offsets.close()


def _fed(
    loading: Loading, output: Output, store: Store | None, begun: Checkpoint, watch: Watch, asked: Asked,
    display: Display,
) -> Feed:
    """Sends until the end; gives the feed that stands there."""
    opened = loading.opening
    control = Control(
        held(loading.rates), opened.stream.timetable.rows_before, loading.resolved_interval_ms, loading.duration,
        bool(loading.options["fixtures"]), loading.search, loading.bytes_per_row)
    sink = SINKS[output.sink](output.settings, output.destinations.topics, lambda since, until: None)
    feed = Feed(
        stretches(opened, output, begun.acknowledged_ms), control, sink, begun, store, (watch.sent,), asked)
    try:
        if loading.master == IN_PROCESS:
            in_process.run(feed, sink, asked)
        else:
            _on_spark(loading.master, feed, output, display)
    finally:
        feed.close()
    return feed


def _on_spark(master: str, feed: Feed, output: Output, display: Display) -> None:
    """In another thread, as no call to Java may be torn; a second signal ends Spark from this one."""
    display.stage("starting Spark")
    with signals_held():
        from simulator.run.engines import session as spark
        from simulator.run.engines.streaming import query

    def work() -> None:
        query.run(spark.session(master), feed, output.destinations.total, lambda said: display.warn((said,)))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        try:
            running.result()
        finally:
            if not running.done():
                spark.end(running.done)


def _told(loading: Loading, output: Output, watch: Watch) -> None:
    """Tables for people, and the files that were asked for."""
    with signals_held():
        load_end.show(watch, stderr=output.sink == "console")
        if loading.options["summary"] is not None:
            load_summary.write(watch, loading.options["summary"])
        if loading.options["report"] is not None:
            from simulator.cli import load_report

            load_report.write(watch, loading.options["report"])


def _write_truth(loading: Loading, output: Output, ms: int, display: Display) -> None:
    display.stage("writing the truth")
    stretch = next(stretches(loading.opening, output, ms))
    truth.write(stretch, ms, loading.options["truth"], loading.plan)
