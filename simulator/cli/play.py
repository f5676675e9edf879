"""`diff` and `run`: the options they share, and the run itself from options to summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from simulator import inspect, outputs, pipeline, plan, releases, scenario, storage, tso
from simulator.changefeed import Changefeed, load_file
from simulator.cli.show import Display, Summary
from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.outputs import Output
from simulator.plan import PLACES, Plan, SchemaChange
from simulator.progress import Listener
from simulator.records import of_batch
from simulator.scenario import Scenario, Settings
from simulator.signals import Stopped, held
from simulator.sinks.console import Screen
from simulator.sinks.files import FORMATS
from simulator.sinks.records import require_delivered


def _read(convert: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    return lambda context, parameter, text: None if text is None else convert(text)


OPTIONS = (
    click.option(
        "--sink-uri", metavar="URI", help="TiCDC's sink URI: kafka://host:port/topic?protocol=open-protocol&…"
    ),
    click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="TiCDC's changefeed.toml."),
    click.option("--release", metavar="TAG", help="TiCDC release to simulate.  [default: v8.5.3]"),
    click.option(
        "--architecture",
        type=click.Choice(list(releases.RELEASES)),
        help="TiCDC architecture.  [default: classic where the release has both]",
    ),
    click.option(
        "--fixtures",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write the records to files; no Kafka is contacted.",
    ),
    click.option(
        "--fixtures-format", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="What the files are."
    ),
    click.option("--console", is_flag=True, help="Print the decoded messages; no Kafka is contacted."),
    click.option(
        "--start-ts",
        callback=_read(tso.start_ts),
        metavar="TSO|TIME",
        help="Where simulated time starts.  [default: Dumpling's Pos]",
    ),
    click.option(
        "--over",
        "over_ms",
        callback=_read(tso.duration_ms),
        metavar="DURATION",
        help="Simulated time that changes are spread over.  [default: 1m]",
    ),
    click.option(
        "--resolved-interval",
        "resolved_interval_ms",
        callback=_read(tso.duration_ms),
        metavar="DURATION",
        help="Simulated time between watermarks.  [default: 1s]",
    ),
    click.option(
        "--speed",
        callback=_read(scenario.speed),
        metavar="max|N",
        help="N simulated seconds in a real one.  [default: max]",
    ),
    click.option(
        "--seed", type=int, callback=_read(scenario.seed), help="Chooses the commit-ts of each row.  [default: 0]"
    ),
    click.option("--master", default="local[*]", show_default=True, metavar="URL", help="Spark master."),
    click.option(
        "--plain-producer", is_flag=True, help="Send record by record through kafka-python's public API (slower)."
    ),
    click.option(
        "--summary",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.json",
        help="Write the summary there, too.",
    ),
)


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that diff and run have in common."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--ddl",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE.sql",
    help="Statements that lead from the tables' definitions in BEFORE to those in AFTER.  [default: they are derived]",
)
@click.option(
    "--ddl-at",
    "at",
    type=click.Choice(PLACES),
    default="middle",
    show_default=True,
    help="Where in the simulated time these statements run.",
)
@click.option(
    "--rename",
    "renamed",
    multiple=True,
    metavar="OLD=NEW",
    help="A column (or db.table.column), or a table, that AFTER has under another name.  May be given again.",
)
@shared
def diff(before: Path, after: Path, file: Path | None, at: str, renamed: tuple[str, ...], **options: Any) -> None:
    """The stream that leads from snapshot directory BEFORE to snapshot directory AFTER.

    A snapshot is a Dumpling export (SQL, CSV or Parquet), or <db>.<table>.csv or .parquet files beside their
    <db>.<table>-schema.sql.
    """
    _play(scenario.diff(before, after, SchemaChange(file, at, renamed)), options)


@click.command()
@click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@shared
def run(file: Path, **options: Any) -> None:
    """Replay a scripted scenario."""
    _play(scenario.load(file), options)


def _play(played: Scenario, options: dict[str, Any]) -> None:
    given = {name: options[name] for name in Settings.__dataclass_fields__}
    said = scenario.merged(Settings(**given), played.settings)
    if said.sink_uri is None:
        raise UserError(
            "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol' "
            "(with --fixtures nothing is contacted)"
        )
    if options["console"] and options["fixtures"]:
        raise UserError("--console and --fixtures exclude each other: choose one")
    release = releases.find(said.release or releases.DEFAULT, said.architecture)
    changefeed = load_file(said.sink_uri, said.config, release)
    _check_summary(options["summary"])
    script = played.script(said)
    display = Display()
    display.warn(changefeed.warnings)
    began = time.monotonic()
    display.stage("reading the snapshots' tables")
    planned = plan.plan(script, changefeed, release)
    display.warn(planned.event_filters.warnings)
    display.note(planned.said)
    if changefeed.codec.large_message_handle_option == "claim-check":
        storage.require_writable(changefeed.codec.claim_check_storage_uri)
    with _output(planned, changefeed, options) as output, Listener(display.heard) as listener:
        display.warn(output.notes)
        display.stage("starting Spark")
        with _beside() as beside:
            spark = beside(_spark, options["master"], planned)
            try:
                with display.following(spark):
                    account = beside(pipeline.run, spark, planned, output, release, script.seed, script.speed, listener)
            except (Stopped, DeliveryError):
                display.stopped(listener.progress, planned, output)
                raise
        require_delivered(account.delivered)
    summary = Summary(planned, output, account, time.monotonic() - began)
    if options["summary"] is not None:
        summary.write(options["summary"])
    display.finish(summary)


@contextmanager
def _beside() -> Iterator[Callable[..., Any]]:
    """Another thread for what waits for Spark; a signal ends Spark from this one, as no call to it may be torn."""
    work: Future[Any] | None = None

    def result(function: Callable[..., Any], *arguments: object) -> Any:
        nonlocal work
        with held():
            work = pool.submit(function, *arguments)
        return work.result()

    with ThreadPoolExecutor(1) as pool:
        try:
            yield result
        finally:
            if work is not None and not work.done():
                from simulator import spark

                spark.end(work.done)


def _check_summary(path: Path | None) -> None:
    if path is not None and not path.absolute().parent.is_dir():
        raise UserError(f"--summary {path}: there is no directory {path.parent}")


@contextmanager
def _output(planned: Plan, changefeed: Changefeed, options: dict[str, Any]) -> Iterator[Output]:
    if options["fixtures"] is not None:
        with outputs.to_fixtures(planned, changefeed, options["fixtures"], options["fixtures_format"]) as output:
            yield output
    elif options["console"]:
        with Screen(_show) as screen:
            try:
                yield outputs.to_console(planned, changefeed, screen.driver)
            finally:
                if screen.refused is not None:
                    raise screen.refused
    else:
        yield outputs.to_kafka(planned, changefeed, not options["plain_producer"])


def _show(batch: Any) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in inspect.lines(of_batch(batch))))
    sys.stdout.flush()


def _spark(master: str, planned: Plan) -> Any:
    # Starting Spark's Java takes seconds: imported here, so that mistakes in the options show at once.
    from simulator.spark import session

    return session(master, planned.input_bytes)


__all__ = ["DeliveryError", "SimulatorError", "diff", "run"]
