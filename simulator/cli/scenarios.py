"""The command `scenarios`: lists and describes the scenarios of the package."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.table import Column, Table
from rich.text import Text

from simulator.cli.output import show_json, show_lines
from simulator.cli.terminal import Terminal
from simulator.errors import UserError
from simulator.files import read_text
from simulator.run.library import Shipped, find, shipped
from simulator.run.scenario_schema import scenario_schema

PARTS = (("", "story"), ("A right consumer: ", "consumer"), ("A wrong one: ", "wrong"))
"""Fields of `About`, with the prefix of each."""


def scenarios(name: str | None, as_json: bool, as_schema: bool) -> None:
    """Print a table of all scenarios, or one scenario with its file, or the schema of such files. Raises UserError."""
    if as_schema:
        if name is not None or as_json:
            raise UserError("--schema is the schema of all scenario files: give neither NAME nor --json with it")
        show_lines(json.dumps(scenario_schema(), indent=2, ensure_ascii=False).splitlines())
    elif name is None:
        if as_json:
            show_json({"scenarios": [_as_dict(scenario) for scenario in shipped().values()]})
        else:
            _show_all()
    elif as_json:
        scenario = find(name)
        show_json(_as_dict(scenario) | {"text": read_text(scenario.file)})
    else:
        _show(find(name))


def _as_dict(scenario: Shipped) -> dict[str, Any]:
    about = scenario.about
    return {
        "name": scenario.name,
        "title": about.title,
        "story": about.story,
        "consumer": about.consumer,
        "wrong": about.wrong,
        "threads": list(about.threads),
        "releases": list(about.releases),
        "legal": about.legal,
        "file": str(scenario.file),
    }


def _show_all() -> None:
    out = Terminal()
    table = Table(
        Column("name", no_wrap=True),
        "what it is about",
        Column("releases", overflow="fold", max_width=40),
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for scenario in shipped().values():
        about = scenario.about
        title = about.title if about.legal else f"{about.title} (not legal: no TiCDC sends this)"
        table.add_row(Text(scenario.name, style="bold"), title, ", ".join(about.releases) or "any")
    out.print(table)
    out.print()
    out.print("`ticdc-sim scenarios NAME` shows one, `ticdc-sim run NAME --console` plays it.")


def _show(scenario: Shipped) -> None:
    out, about = Terminal(), scenario.about
    out.print(Text(f"{scenario.name}: {about.title}", style="bold"))
    out.print()
    for before, part in PARTS:
        if text := getattr(about, part):
            out.print(f"{before}{text}")
            out.print()
    if about.threads:
        out.print(f"Asked for in: {', '.join(about.threads)}")
    out.print(f"Releases: {', '.join(about.releases) or 'any'}" + ("" if about.legal else "; no TiCDC sends this"))
    out.print(f"File: {scenario.file}", soft_wrap=True)
    out.print()
    show_lines(read_text(scenario.file).splitlines())
