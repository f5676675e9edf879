"""The options of `load`, which are checked before a broker or a file is touched."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from simulator.cli import truth
from simulator.cli.sending import check_checkpoint, check_client, check_sink
from simulator.engines.spark.calls import chosen_master
from simulator.errors import UserError
from simulator.load import rates
from simulator.load.lag_search import RateSearch
from simulator.run import library
from simulator.settings import IN_PROCESS, Settings

SEARCH_FROM = 1000.0
"""The initial rows per second of --until-lag without --rate."""


def file_of(file: Path | None, preset: str | None) -> Path:
    """Return the plan's file; raises UserError unless there is exactly one."""
    if preset is not None and file is None:
        return library.preset_file(preset)
    if file is None or preset is not None:
        known = ", ".join(library.preset_names())
        raise UserError(f"a plan is expected, and one alone: PLAN.toml, or --preset with one of {known}")
    return file


def print_plan(file: Path | None, preset: str | None) -> None:
    """Print the text of the plan; raises UserError if it is not a plan."""
    from simulator.load.plan_file import load_plan

    sys.stdout.write(load_plan(file_of(file, preset)).text)


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the options that plan files have, too."""
    return Settings(**{name: options[name] for name in Settings.__dataclass_fields__ if name in options})


def master_of(options: dict[str, Any]) -> str:
    """Return the Spark master; `auto` is one process for the console, to print messages in order."""
    master: str = options["master"]
    return chosen_master(master, bool(options["console"]))


def check(options: dict[str, Any], settings: Settings) -> None:
    """Check that the options fit each other, given their settings merged with the plan's; raises UserError."""
    check_sink(settings.sink_uri, options)
    if options["console"] and master_of(options) != IN_PROCESS:
        raise UserError(f"--console needs --master {IN_PROCESS}: one process shows all messages in their order")
    if options["fixtures"] and options["fixtures_format"] == "parquet" and master_of(options) != IN_PROCESS:
        raise UserError(
            f"--fixtures-format parquet needs --master {IN_PROCESS}: several processes cannot write one such file"
        )
    check_client(options)
    check_checkpoint(options)
    truth.check(options)


def search_of(options: dict[str, Any], rate: str | None) -> RateSearch | None:
    """Return the search of --until-lag, which begins with the given rate; raises UserError."""
    limit, group = options["until_lag"], options["consumer_group"]
    if group is not None and (options["fixtures"] or options["console"]):
        raise UserError("--consumer-group: a group has lag on Kafka only, not with --fixtures or --console")
    if limit is None:
        if options["max_rate"] is not None:
            raise UserError("--max-rate limits the search of --until-lag N; --rate alone says how many rows are sent")
        return None
    if group is None:
        raise UserError(f"--until-lag {limit} needs --consumer-group GROUP: whose lag?")
    most = math.inf if options["max_rate"] is None else float(options["max_rate"])
    if rate is None or rate == rates.MAX:
        return RateSearch(limit, min(SEARCH_FROM, most), most)
    rate_setting = rates.parse_rate(rate)
    first = rate_setting.entries[0].first
    if len(rate_setting.entries) > 1 or rate_setting.burst is not None or first.unit != rates.ROWS:
        raise UserError(f"--until-lag begins with a number of rows/s and changes that itself, not with --rate {rate!r}")
    if first.number > most:
        raise UserError(f"--until-lag begins with {first.number:,.0f} rows/s, above --max-rate {most:,.0f}")
    return RateSearch(limit, first.number, most)
