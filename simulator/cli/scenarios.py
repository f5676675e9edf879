"""The command `scenarios`: lists and describes the scenarios of the package, and has the JSON Schema of such files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Column, Table
from rich.text import Text

from simulator.cli.output import show_json, show_lines
from simulator.cli.terminal import Terminal
from simulator.errors import UserError
from simulator.files import read_text
from simulator.run.scenario import ABOUT, KEYS, Shipped, find_shipped, shipped
from simulator.run.steps import STEPS
from simulator.run.steps.kind import NAME, NAME_KEY, StepKind
from simulator.settings import SETTINGS, Key, table_schema

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
        scenario = find_shipped(name)
        show_json(_as_dict(scenario) | {"text": read_text(scenario.file)})
    else:
        _show(find_shipped(name))


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"

ID = "urn:ticdc-simulator:scenario"
"""The name by which other schemas refer to this one."""


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors, made of the keys that the parser knows."""
    steps = [step for name, kind in STEPS.items() for step in (_variants(name, kind) or [_step(name, kind)])]
    properties = {key: _property(value) for key, value in SETTINGS.items()}
    properties[ABOUT] = {
        "type": "object",
        "description": "What the scenario says of itself.",
        "additionalProperties": False,
        "properties": {key: _property(value) for key, value in KEYS.items()},
    }
    properties["step"] = {"type": "array", "minItems": 1, "items": {"oneOf": steps}}
    return {"$schema": DIALECT, "$id": ID, "title": "A scenario of ticdc-sim", **table_schema(properties, "step")}


def _step(name: str, kind: StepKind) -> dict[str, Any]:
    keys: Mapping[str, Key] = {key: value for group in kind.groups for key, value in group.keys.items()}
    properties = {name: {**kind.type, "description": kind.says}, NAME: _property(NAME_KEY)}
    properties |= {key: _property(value) for key, value in keys.items()}
    return {"title": name, **table_schema(properties, name)}


def _variants(name: str, kind: StepKind) -> list[dict[str, Any]]:
    """Return a schema for each variant of a step."""
    variants = []
    for value, variant in kind.variants.items():
        properties = {name: {"const": value, "description": variant.says}, NAME: _property(NAME_KEY)}
        properties |= {key: _property(each) for key, each in variant.keys.items()}
        variants.append({"title": f"{name} {value}", **table_schema(properties, name, *variant.needs)})
    return variants


def _property(key: Key) -> dict[str, Any]:
    return {**key.type, "description": key.says} if key.says else dict(key.type)
