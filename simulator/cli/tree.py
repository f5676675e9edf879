"""The tree of all commands, and those that make streams, with their arguments, options and help. A command imports its
implementation when it is called.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from simulator import __version__
from simulator.cli import options as shared
from simulator.cli.broker import broker
from simulator.cli.options import COUNT, INPUT, PATH, PORT, TEXT, DependentOption, Group
from simulator.cli.output import complain, without_pandas
from simulator.cli.read_commands import compare, explain, inspect, releases, verify
from simulator.settings import AUTO, CHARSETS, DEFAULT_SINK_URI, PLACES, to_duration_ms


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ticdc-sim")
def commands() -> None:
    """Emits TiCDC's messages to Kafka or to files, byte for byte, without a TiDB cluster."""


@commands.command()
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@click.option(
    "--ddl",
    "file",
    type=PATH,
    metavar="FILE.sql",
    help="Statements that lead from the tables' definitions in BEFORE to those in AFTER.  [default: they are derived]",
)
@click.option(
    "--ddl-at",
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
@shared.TEXT_FORMAT
@shared.play(
    "the Pos of BEFORE's metadata, else 2025-01-01",
    "1m",
    "the commit-ts of each row, and the names of claim-check files",
)
def diff(
    before: Path,
    after: Path,
    file: Path | None,
    ddl_at: str,
    renamed: tuple[str, ...],
    charset: str | None,
    csv_separator: str | None,
    csv_delimiter: str | None,
    csv_null_value: str | None,
    **options: Any,
) -> None:
    """The stream that leads from snapshot BEFORE to snapshot AFTER.

    A snapshot is a directory with an export of Dumpling or mydumper (SQL, CSV or Parquet), or with <db>.<table>.csv or
    .parquet files beside their <db>.<table>-schema.sql, or one file of mysqldump (dump.sql); here, or where fsspec has
    a driver for (s3://bucket/monday).

    \b
    ticdc-sim diff monday tuesday --console
    ticdc-sim diff monday tuesday \\
        --sink-uri "kafka://127.0.0.1:9092/shop?protocol=canal-json"
    """
    without_pandas()
    from simulator.cli.run_scenario import run_scenario
    from simulator.run import scenario
    from simulator.run.steps.derivation import SchemaChangeOptions
    from simulator.sources.snapshots import text_format

    played = f"{before} to {after}"
    format = text_format(charset, csv_separator, csv_delimiter, csv_null_value)
    differing = scenario.diff(before, after, SchemaChangeOptions(file, ddl_at, renamed), format)
    run_scenario(differing, options, "diff", played)


@commands.command()
@click.argument("file", metavar="SCENARIO.toml|STORY.sql|NAME|-", type=INPUT)
@click.option(
    "--from", "first", metavar="STEP", help="Send nothing of the steps before this one, given by number or name."
)
@click.option("--until", "last", metavar="STEP", help="Stop after this step.")
@click.option(
    "--charset", type=click.Choice(list(CHARSETS)), help="The character set of a file of SQL.  [default: utf8mb4]"
)
@shared.play(
    "the Pos of its first snapshot's metadata, else 2025-01-01",
    "1m for a snapshot, a millisecond for a transaction of SQL",
    f"the commit-ts of rows that differ between snapshots, {shared.SQL_SEED}",
    "scenario's",
)
def run(file: Path, charset: str | None, **options: Any) -> None:
    """Play a scenario, or a file of SQL: SQL in, TiCDC's messages out.

    A scenario is TOML: settings, and steps (sql, sql-file, snapshot, generate, wait, fault, expect). SQL is what a
    MySQL client would send to a new TiDB; - reads it from standard input. NAME is a scenario of `ticdc-sim scenarios`.

    \b
    ticdc-sim run story.sql --console
    echo "CREATE TABLE t (id INT PRIMARY KEY)" | ticdc-sim run - --console
    ticdc-sim run bank \\
        --sink-uri "kafka://127.0.0.1:9092/bank?protocol=canal-json"
    """
    without_pandas()
    from simulator.cli.run_scenario import run_scenario
    from simulator.files import STANDARD_STREAM
    from simulator.run import scenario

    if file == STANDARD_STREAM and sys.stdin.isatty():
        complain(["reading SQL from the terminal; Ctrl-D ends it"])
    run_scenario(scenario.load(scenario.file_of(file), charset), options, "run", str(file))


@commands.command()
@click.argument("file", metavar="[PLAN.toml]", required=False, type=PATH)
@click.option(
    "--preset",
    metavar="NAME",
    help="A plan that comes with the package: sysbench, shop, bank, wide-62, wide-124, large-rows, documents, types.",
)
@click.option("--print-plan", is_flag=True, help="Print the plan, to be saved and changed; nothing is sent.")
@shared.destination("plan's")
@shared.start_ts("2025-01-01", "plan's")
@click.option(
    "--rate",
    metavar="RATE",
    help="Rows a second (60000), MiB a second (190MiB), max; steps ('0s:1000, 60s:20000, 5m:max'), ramps "
    "('0s:1000..20000, 5m:20000'), bursts ('1000, every 30s: 100000 for 2s').  [default: the plan's, else max]",
)
@click.option(
    "--until-lag",
    cls=DependentOption,
    needs="--consumer-group GROUP: whose lag?",
    type=COUNT,
    metavar="N",
    help="Raise the rate until the consumer group's lag stays above N records and grows; say what it sustains. The "
    "first rate is --rate, else 1000.",
)
@click.option(
    "--max-rate",
    cls=DependentOption,
    needs="--until-lag N: it limits that search; --rate alone says how many rows are sent",
    type=COUNT,
    metavar="N",
    help="The highest rate of --until-lag, in rows a second.",
)
@click.option("--consumer-group", type=TEXT, metavar="GROUP", help="The consumer group whose lag is watched and shown.")
@click.option(
    "--duration",
    "duration_ms",
    callback=shared.parsed_by(to_duration_ms),
    metavar="DURATION",
    help="How long it runs; with --fixtures in simulated time.  [default: the plan's, else until it is stopped]",
)
@shared.resolved_interval("plan's")
@shared.seed("rows and values", "plan's")
@click.option(
    "--master",
    type=TEXT,
    default=AUTO,
    show_default=True,
    metavar="URL",
    help="Spark master, such as local[*] or spark://host:7077; none makes and sends everything in this process, without "
    "Java; auto is none with --console, else local[*].",
)
@click.option(
    "--checkpoint",
    type=PATH,
    metavar="DIR",
    help="Where the progress of the run is kept, from which --resume continues (Kafka and storages).  [default: <plan>.checkpoint]",
)
@click.option("--resume", is_flag=True, help="Continue where the run of this checkpoint ended.")
@shared.TRUTH
@shared.SUMMARY
@shared.REPORT
@shared.FORCE
@click.option("--metrics-port", type=PORT, metavar="PORT", help="Serve Prometheus metrics on this port.")
@click.option(
    "--metrics-address",
    cls=DependentOption,
    needs="--metrics-port PORT: nothing is served without it",
    type=TEXT,
    metavar="ADDRESS",
    help="The address of this machine on which that port listens; 0.0.0.0 is all of them.  [default: 127.0.0.1]",
)
def load(file: Path | None, **options: Any) -> None:
    """An endless stream of changes, made up from a plan: as much as a consumer can take, for as long as it takes.

    A plan is TOML: tables by CREATE TABLE, what is in their columns, how their rows come, change and go. Every change
    is a function of plan, seed and position, so that any run of it sends the same stream. Ctrl-C ends it at a
    watermark, and --resume goes on there.

    \b
    ticdc-sim load --preset shop --console --duration 2s
    ticdc-sim load --preset shop --print-plan > mine.toml
    ticdc-sim load mine.toml --rate 20000 --duration 2h \\
        --sink-uri "kafka://127.0.0.1:9092/shop?protocol=canal-json"
    """
    without_pandas()
    from simulator.cli.load import command as work

    if options["print_plan"]:
        work.print_plan(file, options["preset"])
    else:
        work.load(file, options)


@commands.command()
@click.argument("name", required=False)
@shared.JSON
@click.option("--schema", "as_schema", is_flag=True, help="The JSON Schema of scenario files, for editors.")
def scenarios(**arguments: Any) -> None:
    """The scenarios that come with the package, and what each is for.

    With NAME that one: its story, what a right and a wrong consumer make of it, and its file. `run NAME` plays it.
    """
    from simulator.cli import scenarios as work

    work.scenarios(**arguments)


@commands.command()
@shared.destination()
@shared.start_ts("2025-01-01")
@shared.resolved_interval()
@shared.seed(f"{shared.SQL_SEED}, and what faults hit")
@click.option("--force", is_flag=True, help="From a pipe: continue after a statement that fails.")
def shell(force: bool, **options: Any) -> int:
    """Type SQL, see the messages that TiCDC makes of it; \\help at the prompt says more.

    Without --sink-uri, and with --console or --fixtures, no Kafka is contacted. From a pipe it stops at the first
    statement that fails.
    """
    without_pandas()
    from simulator.cli.shell import shell as work

    return work(options, force)


WITH_API = "--api-port PORT or --ui: nothing is served without it"


@commands.command()
@shared.destination()
@shared.seed(shared.SQL_SEED)
@click.option("--host", type=TEXT, default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where it listens.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4000, show_default=True, help="Its port; 0 takes a free one."
)
@click.option(
    "--user",
    "users",
    type=TEXT,
    multiple=True,
    metavar="NAME[:PASSWORD]",
    help="Who may log in.  May be given again.  [default: root]",
)
@shared.choice("--authentication", "mysql_native_password", "caching_sha2_password", help="How clients authenticate.")
@click.option(
    "--tls-cert",
    cls=DependentOption,
    needs="--tls-key FILE.pem: they belong together",
    type=PATH,
    metavar="FILE.pem",
    help="A certificate, for TLS.",
)
@click.option(
    "--tls-key",
    cls=DependentOption,
    needs="--tls-cert FILE.pem: they belong together",
    type=PATH,
    metavar="FILE.pem",
    help="Its private key.",
)
@click.option("--data", type=PATH, metavar="DIR", help="Keep the rows there; a later start continues with them.")
@click.option(
    "--api-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve TiCDC's OpenAPI v2 there, for curl and cdc cli; 0 takes a free one.",
)
@click.option(
    "--api-host",
    cls=DependentOption,
    needs=WITH_API,
    type=TEXT,
    metavar="ADDRESS",
    help="Where the API listens.  [default: 127.0.0.1]",
)
@click.option(
    "--api-name",
    "api_names",
    cls=DependentOption,
    needs=WITH_API,
    type=TEXT,
    multiple=True,
    metavar="NAME",
    help="A name with dots by which clients may call the API.",
)
@click.option("--ui", is_flag=True, help="Serve a page at / of the API's port, by default 8300: SQL, and the streams.")
@click.option(
    "--resume",
    cls=DependentOption,
    needs="--data DIR, which a server before has written",
    is_flag=True,
    help="With --data: send what the last server has not sent.",
)
@click.option(
    "--allow-storage",
    cls=DependentOption,
    needs=WITH_API,
    type=TEXT,
    multiple=True,
    metavar="DIR",
    help="Where changefeeds that are created later may write files.  May be given again.",
)
@shared.choice("--when-kafka-fails", "wait", "refuse", help="What a commit does while Kafka does not answer.")
def serve(assumed_uri: str | None = None, browser: bool = False, **options: Any) -> int:
    """A TiDB for MySQL clients, whose commits become TiCDC's messages at once.

    Without --sink-uri, and with --console or --fixtures, no Kafka is contacted. Ctrl-C ends it with a last watermark.

    \b
    ticdc-sim serve --console
    ticdc-sim serve --data shop.data \\
        --sink-uri "kafka://127.0.0.1:9092/shop?protocol=canal-json"
    mysql --host 127.0.0.1 --port 4000 --user root test
    """
    without_pandas()
    from simulator.cli.serve import serve as work

    return work(options, assumed_uri, browser)


@commands.command()
@shared.changefeed()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8300,
    show_default=True,
    help="The page's port; 0 takes a free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the page's address.")
@click.pass_context
def playground(context: click.Context, /, sink_uri: str | None, port: int, no_browser: bool, **options: Any) -> int:
    """A page with SQL at the left, and at the right the messages that TiCDC makes of it.

    The page has a fresh TiDB, which MySQL clients reach, too. No Kafka is contacted: the sink-uri says which protocol and
    which partitions the first changefeed has. Ctrl-C ends it, and nothing is kept.

    \b
    ticdc-sim playground
    ticdc-sim playground --release v7.5.4 --no-browser \\
        --sink-uri "kafka://127.0.0.1:9092/shop?protocol=canal-json"
    """
    options |= {"ui": True, "port": 0, "api_port": port, "browser": not no_browser}
    return int(context.invoke(serve, assumed_uri=sink_uri or DEFAULT_SINK_URI, **options))


for each in (broker, compare, explain, inspect, releases, verify):
    commands.add_command(each)
