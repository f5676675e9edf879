"""The page that `--help` prints: options in sections, and a list of commands whose descriptions are not cut."""

from __future__ import annotations

from collections.abc import Mapping

import click

SECTIONS: Mapping[str, frozenset[str]] = {
    "The changefeed": frozenset(("sink-uri", "config", "tz", "release", "architecture", "schema-registry")),
    "Instead of the sink": frozenset(("fixtures", "fixtures-format", "console")),
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
    "Sending to Kafka": frozenset(("driver",)),
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


class Command(click.Command):
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

    command_class = Command
    group_class = type

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
