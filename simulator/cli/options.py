"""Options that several commands share, and the page of `--help`, which shows them in sections.

Options that are also keys of scenario files have the same parsers.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import click

from simulator import releases
from simulator.errors import UserError
from simulator.files import STANDARD_STREAM
from simulator.settings import AUTO, CHARSETS, DEFAULT_SINK_URI, SETTINGS
from simulator.signals import Stopped, StoppedInImport

Command = Callable[..., int | None]
Option = Callable[[Command], Command]


class FilePath(click.Path):
    """A path. `-` is standard input or output, where `allow_dash` says so; a file of that name is `./-`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("it is empty", param, ctx)
        path = super().convert(value, param, ctx)
        if path != STANDARD_STREAM:
            return path
        if os.fspath(value) != str(STANDARD_STREAM):
            return path.absolute()
        if not self.allow_dash:
            self.fail(
                "- is standard input or output, which cannot be used here; ./- is a file of that name", param, ctx
            )
        return path


class Text(click.types.StringParamType):
    """A text that is not blank, as a shell's variable is that nobody has set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(super().convert(value, param, ctx))
        if not text.strip():
            self.fail("it is empty", param, ctx)
        return text


class DependentOption(click.Option):
    """An option that has no effect without another one; raises UserError where it stands alone."""

    def __init__(self, *declarations: Any, needs: str, **attributes: Any) -> None:
        """`needs` names one or several options, one of which must be given, and then says why."""
        super().__init__(*declarations, **attributes)
        self._needs = needs
        self._others = OPTION_NAME.findall(needs.partition(":")[0])

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        given = {name for param in ctx.command.params if param.name in opts for name in param.opts}
        if not given.isdisjoint(self.opts) and given.isdisjoint(self._others):
            raise UserError(f"{self.opts[-1]} needs {self._needs}")
        return super().handle_parse_result(ctx, opts, args)


OPTION_NAME = re.compile("--[a-z-]+")
TEXT = Text()
PATH = FilePath(path_type=Path)
INPUT = FilePath(path_type=Path, allow_dash=True)
NEW_FILE = FilePath(path_type=Path, dir_okay=False)
NEW_TEXT = FilePath(path_type=Path, dir_okay=False, allow_dash=True)
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


def choice(name: str, first: str, *others: str, help: str, **attributes: Any) -> Option:
    """Return an option with some values, the first of which is the default."""
    return click.option(
        name, type=click.Choice([first, *others]), default=first, show_default=True, help=help, **attributes
    )


CONFIG = click.option("--config", type=PATH, metavar="FILE", help="TiCDC's changefeed.toml.")
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")
SUMMARY = click.option(
    "--summary", type=NEW_TEXT, metavar="FILE.json|-", help="Also write the summary there; - is standard output."
)
FORCE = click.option("--force", is_flag=True, help="Replace a file there that ticdc-sim did not write, too.")
REPORT = click.option("--report", type=NEW_FILE, metavar="FILE.html", help="Write a page with plots there.")


def time_zone(default: str) -> Option:
    """Return the option; `default` is what counts without it."""
    return setting("tz", metavar="ZONE", help=f"Time zone of TiCDC's servers, such as Asia/Shanghai.  {default}")


def changefeed(file: str = "") -> Option:
    """Return the options that say what is simulated. `file` is what can have them, too."""
    return together(
        click.option(
            "--sink-uri", metavar="URI", help="TiCDC's sink URI: kafka://host:port/topic?protocol=open-protocol&…"
        ),
        CONFIG,
        time_zone(_default("System, which is UTC", file)),
        click.option(
            "--release",
            type=TEXT,
            metavar="TAG",
            help=f"TiCDC release to simulate.  {_default(releases.DEFAULT, file)}",
        ),
        architecture(f"TiCDC architecture.  {_default('classic where the release has both', file)}"),
    )


def destination(file: str = "") -> Option:
    """Return the options of commands that send: diff, run, load, shell and serve. `file` is what can have them, too."""
    return together(
        changefeed(file),
        click.option("--fixtures", type=PATH, metavar="DIR", help="Write the records to files; no Kafka is contacted."),
        choice(
            "--fixtures-format",
            "jsonl",
            "parquet",
            help="The format of the files.",
            cls=DependentOption,
            needs="--fixtures DIR: it is the format of the files there",
        ),
        click.option("--console", is_flag=True, help="Print the decoded messages; no Kafka is contacted."),
    )


INSTEAD_OF_SINK = ("console", "fixtures")
"""Options of which one may take the place of the sink-uri; nothing is contacted then."""


def instead_of_sink(options: Mapping[str, Any]) -> str | None:
    """Return the option in the place of the sink-uri; None where records go to the sink."""
    return next((f"--{name}" for name in INSTEAD_OF_SINK if options.get(name)), None)


def _default(value: str, file: str) -> str:
    return f"[default: {f'the {file}, else ' if file else ''}{value}]"


def start_ts(default: str, file: str = "") -> Option:
    """Return the option; `default` is what counts without it and without a file that has it."""
    return setting("start-ts", metavar="TSO|TIME", help=f"Where simulated time starts.  {_default(default, file)}")


def resolved_interval(file: str = "") -> Option:
    return setting(
        "resolved-interval", metavar="DURATION", help=f"Simulated time between watermarks.  {_default('1s', file)}"
    )


def seed(chosen: str, file: str = "") -> Option:
    """Return the option; `chosen` is what depends on the seed."""
    return setting("seed", type=int, help=f"Chooses {chosen}.  {_default('0', file)}")


SQL_SEED = "what is random in SQL, AUTO_RANDOM, RAND() and UUID(), and the names of claim-check files"

TEXT_FORMAT = together(
    click.option(
        "--charset",
        type=click.Choice(list(CHARSETS)),
        help="The character set of the snapshots' SQL and CSV files.  [default: utf8mb4]",
    ),
    click.option(
        "--csv-separator", metavar="TEXT", help="What separates values in CSV files, also \\t or \\x01.  [default: ,]"
    ),
    click.option(
        "--csv-delimiter", metavar="CHAR", help='The quote around texts in CSV files; empty for none.  [default: "]'
    ),
    click.option("--csv-null-value", metavar="TEXT", help="NULL in CSV files, without quotes.  [default: \\N]"),
)
"""Options of commands that read snapshots: diff and verify. Their names are Dumpling's."""

TRUTH = together(
    click.option(
        "--truth",
        type=PATH,
        metavar="DIR",
        help="Write a snapshot there of what a correct consumer has at the last watermark.",
    ),
    choice(
        "--truth-format",
        "csv",
        "parquet",
        help="The format of its files.",
        cls=DependentOption,
        needs="--truth DIR: it is the format of the files there",
    ),
    click.option(
        "--at",
        cls=DependentOption,
        needs="--truth DIR: it says of when the truth is",
        metavar="WHEN",
        help="Write the truth at this time (10m after the start, or the TSO of a watermark), and send nothing.",
    ),
)
"""Options of commands that can write a truth: diff, run and load."""


def play(start: str, over: str, chosen: str, file: str = "") -> Option:
    """Return the options of diff and run; `start` and `over` are defaults, `chosen` is what depends on the seed."""
    return together(
        destination(file),
        start_ts(start, file),
        setting(
            "over", metavar="DURATION", help=f"Simulated time over which changes are spread.  {_default(over, file)}"
        ),
        resolved_interval(file),
        setting("speed", metavar="max|N", help=f"N simulated seconds in a real one.  {_default('max', file)}"),
        seed(chosen, file),
        click.option(
            "--master",
            type=TEXT,
            default=AUTO,
            show_default=True,
            metavar="URL",
            help="Spark master, such as local[*] or spark://host:7077; none compares snapshots of up to 268 MB in this "
            "process, without Java; auto is none up to 67 MB of them, else local[*].",
        ),
        click.option(
            "--checkpoint",
            type=PATH,
            metavar="DIR",
            help="Keep the progress of the run there, from which --resume continues (Kafka and storages).",
        ),
        click.option(
            "--resume",
            cls=DependentOption,
            needs="--checkpoint DIR, where a run with it did not come to its end",
            is_flag=True,
            help="Continue where the run of this checkpoint ended, as a restarted TiCDC does.",
        ),
        SUMMARY,
        FORCE,
        TRUTH,
    )


CHANGEFEED = together(
    click.option("--sink-uri", metavar="URI", help=f"TiCDC's sink URI.  [default: {DEFAULT_SINK_URI}]"),
    CONFIG,
    time_zone(_default("System, which is UTC", "")),
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


SECTIONS: Mapping[str, frozenset[str]] = {
    "The changefeed": frozenset(("sink-uri", "config", "tz", "release", "architecture", "schema-registry")),
    "Instead of the sink": frozenset((*INSTEAD_OF_SINK, "fixtures-format")),
    "Time, rate and seed": frozenset(
        (
            "start-ts",
            "over",
            "resolved-interval",
            "speed",
            "rate",
            "duration",
            "until-lag",
            "max-rate",
            "consumer-group",
            "seed",
        )
    ),
    "How exports are written": frozenset(("charset", "csv-separator", "csv-delimiter", "csv-null-value")),
    "Where it is computed": frozenset(("master",)),
    "A run that ends early": frozenset(("checkpoint", "resume")),
    "The rows that are expected": frozenset(
        ("truth", "truth-format", "at", "before", "after", "against", "jdbc-driver")
    ),
    "Reports": frozenset(("summary", "report", "metrics-port", "metrics-address")),
}
"""The sections of a command with many options, by the options' names. Others come first, and those of all commands last."""

EVERYWHERE = "Other options"

MANY = 15
"""Options from which on a page has sections."""


class SectionedCommand(click.Command):
    """A command whose page has sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in sections if there are many."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS, EVERYWHERE)}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                sections[_section(option) if len(options) > MANY else "Options"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence, whole."""
        return _first_sentence(self.help)


class Group(click.Group):
    """A group of such commands."""

    command_class = SectionedCommand
    group_class = type

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would make something else of a KeyboardInterrupt, and an empty line."""
        try:
            return super().invoke(ctx)
        except StoppedInImport as stopped:
            raise Stopped(stopped.exit_code - 128) from None

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence, whole."""
        return _first_sentence(self.help)


def _section(option: click.Option) -> str:
    name = option.opts[-1].lstrip("-")
    if name in ("help", "traceback"):
        return EVERYWHERE
    return next((title for title, names in SECTIONS.items() if name in names), "Options")


def _first_sentence(text: str | None) -> str:
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return f"{paragraph.partition('. ')[0].rstrip('.')}."
