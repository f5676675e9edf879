"""All commands with their arguments, options and help. A command imports its implementation when it is called."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

import click

from simulator import __version__, tso
from simulator.cli import options as shared
from simulator.cli.broker import broker
from simulator.cli.options import COUNT, INPUT, PATH, PORT, TEXT, DependentOption, Group
from simulator.cli.output import complain
from simulator.errors import UserError
from simulator.settings import AUTO, CHARSETS, DEFAULT_SINK_URI, PLACES, to_duration_ms


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ticdc-sim")
def commands() -> None:
    """Emits TiCDC's messages to Kafka or to files, byte for byte, without a TiDB cluster."""


def _without_pandas() -> None:
    """Keep pyarrow from importing pandas; called before a command's imports."""
    from simulator.columns import without_pandas

    without_pandas()


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
    _without_pandas()
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
    _without_pandas()
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
@click.option("--consumer-group", metavar="GROUP", help="The consumer group whose lag is watched and shown.")
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
    _without_pandas()
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
    _without_pandas()
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
    _without_pandas()
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


PROTOCOLS = click.Choice(["open-protocol", "canal-json", "debezium", "debezium-avro", "simple", "avro", "maxwell"])
LISTED = ", ".join(PROTOCOLS.choices)


@commands.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line, for programs.")
@click.option("--raw", is_flag=True, help="The bytes of each message as text, to compare two streams with diff.")
@click.option("--follow", is_flag=True, help="Wait for more (Kafka only).")
@click.option(
    "--protocol", type=PROTOCOLS, metavar="NAME", help=f"One of {LISTED}.  By default recognised from each message."
)
@click.option("--limit", type=COUNT, metavar="N", help="Stop after N events (--raw: messages).")
@click.option(
    "--schema-registry", metavar="URL", help="The registry with the schemas of the messages (protocols in Avro)."
)
@click.option(
    "--config", type=PATH, metavar="FILE", help="The changefeed.toml with which files on storage were written."
)
def inspect(
    source: str,
    as_json: bool,
    raw: bool,
    follow: bool,
    protocol: str | None,
    limit: int | None,
    schema_registry: str | None,
    config: Path | None,
) -> None:
    """Messages decoded for people, one line for each event.

    SOURCE is a fixtures directory, kafka://host:port/topic, or the directory or URI (file://, s3://, …) of files that
    a storage sink wrote.
    """
    if raw and (as_json or protocol):
        raise UserError("--raw shows bytes as they are: --json and --protocol say how to decode them")
    _without_pandas()
    from simulator.cli.output import show_lines, warn
    from simulator.reader.storage import is_storage

    if is_storage(source):
        if raw or follow or protocol or schema_registry:
            raise UserError(
                f"{source} has files of a storage sink: of the options only --json, --limit and --config apply"
            )
        from simulator.reader.records import skipped_files
        from simulator.reader.storage.directory import open_directory
        from simulator.reader.storage.events import lines as lines_of_files

        directory = open_directory(source, config)
        warn(skipped_files(directory.skipped))
        show_lines(islice(lines_of_files(directory, as_json), limit))
        return
    if config:
        raise UserError(f"--config is for files on storage, and {source} has none")
    from simulator.reader.event_lines import lines, raw_lines
    from simulator.reader.records import check_protocol, read_records, source_schemas

    check_protocol(protocol, source)
    records = read_records(source, follow, warn)
    decoded = raw_lines(records) if raw else lines(records, as_json, protocol, source_schemas(source, schema_registry))
    show_lines(islice(decoded, limit))


DETAILS = click.Choice(["commit-ts", "build-ts", "ids", "order", "members", "watermarks", "claim-check-names"])


@commands.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--protocol",
    type=PROTOCOLS,
    metavar="NAME",
    help=f"One of {LISTED}.  By default recognised from the first message.",
)
@click.option(
    "--consider",
    "considered",
    type=DETAILS,
    multiple=True,
    help="Compare what differs between any two runs of TiCDC, too: commit-ts and ids as numbers, build-ts (times of "
    "building), the order of tables and keys inside a transaction, the order of members that TiCDC writes from a map, "
    "watermarks, the names of claim-check files.  May be given again.",
)
@click.option("--exact", is_flag=True, help="Consider all of these: every byte.")
@click.option("--limit", type=COUNT, metavar="N", default=20, show_default=True, help="Show at most N differences.")
@click.option(
    "--config", type=PATH, metavar="FILE", help="The changefeed.toml with which files on storage were written."
)
@shared.JSON
def compare(a: str, b: str, **options: Any) -> int:
    """Where two recorded streams differ, event by event: of two releases, or of the simulator and a real TiCDC.

    A and B are fixtures directories, kafka://host:port/topic, or both files that a storage sink wrote. What differs
    between any two runs is not a difference: commit-ts and ids, as long as the same events share one and the commit-ts have the same order, and what
    --consider lists. Exit code 1 if the streams differ.
    """
    _without_pandas()
    from simulator.cli.compare import compare as work

    return work(a, b, **options)


@commands.command()
@click.argument("source", required=False)
@click.option(
    "--truth",
    type=PATH,
    metavar="DIR",
    help="What --truth of run, diff or load wrote: the rows expected, and how the stream was made.",
)
@click.option("--before", metavar="DIR", help="Snapshot of the rows where the stream begins.")
@click.option("--after", metavar="DIR", help="Snapshot of the rows that are expected where it ends.")
@click.option(
    "--against",
    metavar="DIR|URL",
    help="What a consumer wrote down, to be held against the truth: a snapshot, or its database "
    "(sqlite:///file.db, postgresql://…, mysql://…, or jdbc:… through Spark).",
)
@shared.TEXT_FORMAT
@click.option("--jdbc-driver", type=PATH, metavar="JAR", help="The driver of a jdbc: database.")
@click.option("--sink-uri", metavar="URI", help="The changefeed's sink URI.  [default: the truth's]")
@click.option("--config", type=PATH, metavar="FILE", help="Its changefeed.toml.  [default: the truth's]")
@shared.time_zone("[default: the truth's, else System, which is UTC]")
@click.option(
    "--schema-registry",
    metavar="URL",
    help="Where the schemas are that messages name (avro from Kafka).  [default: the changefeed's]",
)
@click.option(
    "--release", metavar="TAG", help="TiCDC release that wrote the stream.  [default: the truth's, else v8.5.3]"
)
@shared.architecture("TiCDC architecture.  [default: the truth's, else classic where the release has both]")
@click.option("--follow", is_flag=True, help="First wait until every partition has the final watermark (Kafka only).")
@click.option(
    "--until",
    type=click.IntRange(1, tso.FOREVER),
    metavar="TSO",
    help="The watermark that --follow waits for.  [default: the truth's final one]",
)
@click.option(
    "--show",
    type=click.IntRange(0, 100_000),
    default=10,
    show_default=True,
    metavar="N",
    help="How many examples of each check and table to show; all are counted.",
)
@shared.JSON
@shared.REPORT
@shared.FORCE
@click.option(
    "--master",
    default=AUTO,
    show_default=True,
    metavar="URL",
    help="Spark master, such as local[*] or spark://host:7077; none reads everything in this process, without Java; auto "
    "is none for up to 268 MB of records and snapshots, else local[*].",
)
@click.option(
    "--no-restarts",
    "restarts",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Take it for wrong when rows come again, as they do after a restart of the changefeed.",
)
def verify(**options: Any) -> int:
    """Whether a stream keeps TiCDC's contract, and leads to the rows that are expected.

    SOURCE is a fixtures directory, kafka://host:port/topic[,topic] or the files of a storage (file:///directory),
    written by ticdc-sim or by a real TiCDC. Exit codes: 0 RIGHT, 1 WRONG or UNFINISHED, 4 UNPROVED.

    \b
    ticdc-sim run bank --fixtures out --truth truth
    ticdc-sim verify out --truth truth
    ticdc-sim verify --truth truth --against what-my-consumer-wrote
    """
    _without_pandas()
    from simulator.cli.verify import verify as work

    return work(options)


@commands.group()
def explain() -> None:
    """Why a row goes where it goes, and as which bytes."""


@explain.command()
@click.argument("change", metavar="JSON")
@click.option("--schema", type=PATH, required=True, metavar="FILE.sql", help="CREATE TABLE of the row's table.")
@shared.current_database("Database, where the statement names none.")
@shared.CHANGEFEED
def row(change: str, schema: Path, **options: Any) -> None:
    """Whether a row change, given as {"before": {…}, "after": {…}}, is sent, its flags, handle, partition and bytes.

    Values are null, TiDB's text, numbers, or {"hex": "…"} for bytes; "commit_ts" and "partitions" may be given, too.
    """
    _without_pandas()
    from simulator.cli import explain as work

    work.row(change, schema, options)


@explain.command()
@click.argument("statement", metavar="STATEMENTS")
@shared.CATALOG
@shared.CHANGEFEED
def ddl(statement: str, **options: Any) -> None:
    """Which jobs a statement is, whether TiCDC replicates it, as which messages, and how tables change.

    Several statements are explained one after the other, each with the tables that the one before leaves; USE counts,
    and --json gives a list. Without --schema nothing is known of tables: every name is taken to exist and to have a
    valid index.
    """
    _without_pandas()
    from simulator.cli import explain as work

    work.ddl(statement, options)


@explain.command()
@click.argument("name", metavar="DB.T")
@shared.CATALOG
@shared.CHANGEFEED
def table(name: str, **options: Any) -> None:
    """Whether a table is replicated and by which rule, its handle key, dispatcher and topic."""
    _without_pandas()
    from simulator.cli import explain as work

    work.table(name, options)


@commands.command()
@click.argument("first", metavar="[A", required=False)
@click.argument("second", metavar="[B]]", required=False)
@shared.architecture("The architecture of releases that are not given as new:TAG.")
@click.option(
    "--protocol",
    type=click.Choice([*PROTOCOLS.choices, "csv"], case_sensitive=False),
    metavar="NAME",
    help=f"Only what concerns a changefeed with this protocol: {LISTED}, or csv.",
)
@click.option("--config", type=PATH, metavar="FILE", help="Only what concerns a changefeed with this changefeed.toml.")
@click.option(
    "--sink-uri",
    metavar="URI",
    help="Only what concerns a changefeed with this sink URI; without one the sink is Kafka.",
)
@click.option(
    "--examples", is_flag=True, help="For each difference on the wire, show an event as both releases encode it."
)
@shared.JSON
def releases(**arguments: Any) -> None:
    """What TiCDC releases do, and what changes from one to another.

    Without arguments: all lines of releases, and where behaviours change. With A: everything that release does. With A
    and B: what B does otherwise, what is on the wire first. A release is a tag, v8.5.4; where both architectures have
    it the classic one is meant, new:v8.5.4 is the other.

    \b
    ticdc-sim releases v6.5.0 v8.5.3
    ticdc-sim releases v6.5.0 v8.5.3 --protocol canal-json
    ticdc-sim releases v8.5.4 new:v8.5.4 --examples
    """
    if arguments["examples"]:
        _without_pandas()
    from simulator.cli import releases as work

    work.releases(**arguments)


commands.add_command(broker)
