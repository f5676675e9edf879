"""Options that several commands share. Options that are also keys of scenario files have the same parsers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from simulator import releases
from simulator.errors import UserError
from simulator.settings import AUTO, DEFAULT_SINK_URI, SETTINGS

Command = Callable[..., int | None]
Option = Callable[[Command], Command]

PATH = click.Path(path_type=Path)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
COUNT = click.IntRange(1, sys.maxsize)
PORT = click.IntRange(1, 65535)


def together(*options: Option) -> Option:
    """Return a decorator that adds options to a command."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def parsed_by(convert: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    return lambda context, parameter, text: None if text is None else convert(text)


def setting(key: str, **shown: Any) -> Option:
    """Return the option of a setting that scenario files have, too."""
    spec = SETTINGS[key]
    return click.option(f"--{key}", spec.field, callback=parsed_by(spec.read), **shown)


def _as_text(_: click.Context, parameter: click.Parameter, name: str) -> str:
    """Return an argument that must be UTF-8; raises UserError."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{parameter.opts[0]} {name!r} is not UTF-8") from None
    return name


def architecture(text: str) -> Option:
    return click.option("--architecture", type=click.Choice(list(releases.RELEASES)), help=text)


def current_database(text: str) -> Option:
    return click.option(
        "--use", "database", callback=_as_text, default="test", show_default=True, metavar="DB", help=text
    )


def choice(name: str, first: str, *others: str, help: str) -> Option:
    """Return an option with some values, the first of which is the default."""
    return click.option(name, type=click.Choice([first, *others]), default=first, show_default=True, help=help)


CONFIG = click.option("--config", type=PATH, metavar="FILE", help="TiCDC's changefeed.toml.")
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")
SUMMARY = click.option("--summary", type=NEW_FILE, metavar="FILE.json", help="Write the summary there, too.")
FORCE = click.option("--force", is_flag=True, help="Replace a file there that ticdc-sim did not write, too.")
REPORT = click.option("--report", type=NEW_FILE, metavar="FILE.html", help="Write a page with plots there.")

DESTINATION = together(
    click.option(
        "--sink-uri", metavar="URI", help="TiCDC's sink URI: kafka://host:port/topic?protocol=open-protocol&…"
    ),
    CONFIG,
    click.option("--release", metavar="TAG", help="TiCDC release to simulate.  [default: v8.5.3]"),
    architecture("TiCDC architecture.  [default: classic where the release has both]"),
    click.option("--fixtures", type=PATH, metavar="DIR", help="Write the records to files; no Kafka is contacted."),
    choice("--fixtures-format", "jsonl", "parquet", help="What the files are."),
    click.option("--console", is_flag=True, help="Print the decoded messages; no Kafka is contacted."),
)
"""Options of commands that send: diff, run, load and shell."""

START_TS = setting("start-ts", metavar="TSO|TIME", help="Where simulated time starts.  [default: Dumpling's Pos]")
RESOLVED_INTERVAL = setting(
    "resolved-interval", metavar="DURATION", help="Simulated time between watermarks.  [default: 1s]"
)
SEED = setting("seed", type=int, help="Chooses the commit-ts of each row.  [default: 0]")

CLIENT = together(
    click.option(
        "--driver",
        type=click.Choice(["kafka-python", "confluent"]),
        help="The client that sends to Kafka: confluent is confluent-kafka, an extra.  [default: kafka-python]",
    ),
    click.option(
        "--plain-producer",
        is_flag=True,
        help="Send record by record through kafka-python's public API, not in prepared batches (slower).",
    ),
)
"""Options of the Kafka client: diff, run and load."""

TRUTH = together(
    click.option(
        "--truth",
        type=PATH,
        metavar="DIR",
        help="Write a snapshot of what a right consumer has at the last watermark there.",
    ),
    choice("--truth-format", "csv", "parquet", help="What its files are."),
    click.option(
        "--at",
        metavar="WHEN",
        help="Write the truth of then (10m since the start, or the TSO of a watermark), and send nothing.",
    ),
)
"""Options of commands that can write a truth: diff, run and load."""

RUN = together(
    DESTINATION,
    START_TS,
    setting("over", metavar="DURATION", help="Simulated time that changes are spread over.  [default: 1m]"),
    RESOLVED_INTERVAL,
    setting("speed", metavar="max|N", help="N simulated seconds in a real one.  [default: max]"),
    SEED,
    click.option(
        "--master",
        default=AUTO,
        show_default=True,
        metavar="URL",
        help="Spark master, such as local[*] or spark://host:7077; none compares snapshots of up to 268 MB in this process, "
        "without Java; auto is none up to 67 MB of them, else local[*].",
    ),
    CLIENT,
    click.option(
        "--checkpoint",
        type=PATH,
        metavar="DIR",
        help="Keep there how far the run is, before each watermark (Kafka only).",
    ),
    click.option("--resume", is_flag=True, help="Go on where the run of this checkpoint ended, as TiCDC restarted."),
    SUMMARY,
    FORCE,
    TRUTH,
)
"""Options of diff and run."""

CHANGEFEED = together(
    click.option("--sink-uri", default=DEFAULT_SINK_URI, show_default=True, metavar="URI", help="TiCDC's sink URI."),
    CONFIG,
    click.option("--release", default=releases.DEFAULT, show_default=True, metavar="TAG", help="TiCDC release."),
    architecture("By default the release's."),
    JSON,
)
"""Options of explain."""

CATALOG = together(
    click.option(
        "--schema",
        "schemas",
        type=PATH,
        multiple=True,
        metavar="FILE.sql",
        help="CREATE DATABASE, CREATE TABLE, … of what exists; may be given several times.",
    ),
    current_database("The current database."),
)
"""Options of explain ddl and explain table: the tables that exist."""
