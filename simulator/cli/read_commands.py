"""The commands that look at streams, messages and releases, with their arguments, options and help; `tree` has the others."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import click

from simulator import tso
from simulator.cli import options as shared
from simulator.cli.options import COUNT, PATH, TEXT, Group, SectionedCommand
from simulator.cli.output import show_lines, warn, without_pandas
from simulator.errors import UserError
from simulator.settings import AUTO

PROTOCOLS = click.Choice(["open-protocol", "canal-json", "debezium", "debezium-avro", "simple", "avro", "maxwell"])
LISTED = ", ".join(PROTOCOLS.choices)

STORED_WITH = click.option(
    "--config", type=PATH, metavar="FILE", help="The changefeed.toml with which files on storage were written."
)
"""An option of commands that read files of a storage: inspect and compare."""


@click.command(cls=SectionedCommand)
@click.argument("source", type=TEXT)
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line, for programs.")
@click.option("--raw", is_flag=True, help="The bytes of each message as text, to compare two streams with diff.")
@click.option("--follow", is_flag=True, help="Wait for more (Kafka only).")
@click.option(
    "--protocol", type=PROTOCOLS, metavar="NAME", help=f"One of {LISTED}.  By default recognised from each message."
)
@click.option("--limit", type=COUNT, metavar="N", help="Stop after N events (--raw: messages).")
@click.option(
    "--schema-registry",
    type=TEXT,
    metavar="URL",
    help="The registry with the schemas of the messages (protocols in Avro).",
)
@STORED_WITH
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
    without_pandas()
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


@click.command(cls=SectionedCommand)
@click.argument("a", type=TEXT)
@click.argument("b", type=TEXT)
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
@STORED_WITH
@shared.JSON
def compare(a: str, b: str, **options: Any) -> int:
    """Where two recorded streams differ, event by event: of two releases, or of the simulator and a real TiCDC.

    A and B are fixtures directories, kafka://host:port/topic, or both files that a storage sink wrote. What differs
    between any two runs is not a difference: commit-ts and ids, as long as the same events share one and the commit-ts have the same order, and what
    --consider lists. Exit code 1 if the streams differ.
    """
    without_pandas()
    from simulator.cli.compare import compare as work

    return work(a, b, **options)


@click.command(cls=SectionedCommand)
@click.argument("source", type=TEXT, required=False)
@click.option(
    "--truth",
    type=PATH,
    metavar="DIR",
    help="What --truth of run, diff or load wrote: the rows expected, and how the stream was made.",
)
@click.option("--before", type=TEXT, metavar="DIR", help="Snapshot of the rows where the stream begins.")
@click.option("--after", type=TEXT, metavar="DIR", help="Snapshot of the rows that are expected where it ends.")
@click.option(
    "--against",
    type=TEXT,
    metavar="DIR|URL",
    help="What a consumer wrote down, to be held against the truth: a snapshot, or its database "
    "(sqlite:///file.db, postgresql://…, mysql://…, or jdbc:… through Spark).",
)
@shared.TEXT_FORMAT
@click.option("--jdbc-driver", type=PATH, metavar="JAR", help="The driver of a jdbc: database.")
@click.option("--sink-uri", type=TEXT, metavar="URI", help="The changefeed's sink URI.  [default: the truth's]")
@click.option("--config", type=PATH, metavar="FILE", help="Its changefeed.toml.  [default: the truth's]")
@shared.time_zone("[default: the truth's, else System, which is UTC]")
@click.option(
    "--schema-registry",
    type=TEXT,
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
    type=TEXT,
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
    without_pandas()
    from simulator.cli.verify import verify as work

    return work(options)


@click.group(cls=Group)
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
    without_pandas()
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
    without_pandas()
    from simulator.cli import explain as work

    work.ddl(statement, options)


@explain.command()
@click.argument("name", metavar="DB.T")
@shared.CATALOG
@shared.CHANGEFEED
def table(name: str, **options: Any) -> None:
    """Whether a table is replicated and by which rule, its handle key, dispatcher and topic."""
    without_pandas()
    from simulator.cli import explain as work

    work.table(name, options)


@click.command(cls=SectionedCommand)
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
    type=TEXT,
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
        without_pandas()
    from simulator.cli import releases as work

    work.releases(**arguments)
