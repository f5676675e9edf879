"""Options that several commands share. Options that are also keys of scenario files have the same parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

from simulator import releases as known
from simulator.errors import UserError
from simulator.settings import DEFAULT_SINK_URI, SETTINGS

Command = Callable[..., int | None]
Option = Callable[[Command], Command]


def given(options: Sequence[Option]) -> Option:
    """Return a decorator that adds options to a command."""

    def to(command: Command) -> Command:
        return reduce(lambda made, option: option(made), reversed(options), command)

    return to


def read_by(convert: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    return lambda context, parameter, text: None if text is None else convert(text)


def setting(key: str, **shown: Any) -> Option:
    """Return the option of a setting that scenario files have, too."""
    found = SETTINGS[key]
    return click.option(f"--{key}", found.field, callback=read_by(found.read), **shown)


def as_text(_: click.Context, parameter: click.Parameter, name: str) -> str:
    """Return an argument that must be UTF-8; raises UserError."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{parameter.opts[0]} {name!r} is not UTF-8") from None
    return name


def architecture(text: str) -> Option:
    return click.option("--architecture", type=click.Choice(list(known.RELEASES)), help=text)


def current_database(text: str) -> Option:
    return click.option(
        "--use", "database", callback=as_text, default="test", show_default=True, metavar="DB", help=text
    )


CONFIG = click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="TiCDC's changefeed.toml.")
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")

CHANGEFEED_AND_OUTPUT = (
    click.option(
        "--sink-uri", metavar="URI", help="TiCDC's sink URI: kafka://host:port/topic?protocol=open-protocol&…"
    ),
    CONFIG,
    click.option("--release", metavar="TAG", help="TiCDC release to simulate.  [default: v8.5.3]"),
    architecture("TiCDC architecture.  [default: classic where the release has both]"),
    click.option(
        "--fixtures",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write the records to files; no Kafka is contacted.",
    ),
    click.option(
        "--fixtures-format",
        type=click.Choice(["jsonl", "parquet"]),
        default="jsonl",
        show_default=True,
        help="What the files are.",
    ),
    click.option("--console", is_flag=True, help="Print the decoded messages; no Kafka is contacted."),
    setting("start-ts", metavar="TSO|TIME", help="Where simulated time starts.  [default: Dumpling's Pos]"),
)
"""Options of commands that send: diff, run and shell."""

RESOLVED_INTERVAL = setting(
    "resolved-interval", metavar="DURATION", help="Simulated time between watermarks.  [default: 1s]"
)
SEED = setting("seed", type=int, help="Chooses the commit-ts of each row.  [default: 0]")

CLIENT = (
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

TRUTH = (
    click.option(
        "--truth",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write a snapshot of what a right consumer has at the last watermark there.",
    ),
    click.option(
        "--truth-format",
        type=click.Choice(["csv", "parquet"]),
        default="csv",
        show_default=True,
        help="What its files are.",
    ),
    click.option(
        "--at",
        metavar="WHEN",
        help="Write the truth of then (10m since the start, or the TSO of a watermark), and send nothing.",
    ),
)
"""Options of commands that can write a truth: diff, run and load."""

RUN = given(
    (
        *CHANGEFEED_AND_OUTPUT,
        setting("over", metavar="DURATION", help="Simulated time that changes are spread over.  [default: 1m]"),
        RESOLVED_INTERVAL,
        setting("speed", metavar="max|N", help="N simulated seconds in a real one.  [default: max]"),
        SEED,
        click.option(
            "--master",
            metavar="URL",
            help="Spark master; none compares small snapshots in this process, without Java.  [default: local[*] where "
            "snapshots are compared, else none]",
        ),
        *CLIENT,
        click.option(
            "--checkpoint",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Keep there how far the run is, before each watermark (Kafka only).",
        ),
        click.option(
            "--resume", is_flag=True, help="Go on where the run of this checkpoint ended, as TiCDC restarted."
        ),
        click.option(
            "--summary",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE.json",
            help="Write the summary there, too.",
        ),
        *TRUTH,
    )
)
"""Options of diff and run."""

CHANGEFEED = (
    click.option("--sink-uri", default=DEFAULT_SINK_URI, show_default=True, metavar="URI", help="TiCDC's sink URI."),
    CONFIG,
    click.option("--release", default=known.DEFAULT, show_default=True, metavar="TAG", help="TiCDC release."),
    architecture("By default the release's."),
    JSON,
)
"""Options of explain."""

CATALOG = (
    click.option(
        "--schema",
        "schemas",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE.sql",
        help="CREATE DATABASE, CREATE TABLE, … of what exists; may be given several times.",
    ),
    current_database("The current database."),
)
