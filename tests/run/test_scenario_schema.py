"""The JSON Schema that ships with the package, for editors."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from simulator.run import scenario_schema

SHIPPED = Path(scenario_schema.__file__).parent / "scenario.schema.json"
SCENARIOS = sorted(
    path
    for path in (Path(__file__).parent.parent.parent / "scenarios").rglob("*.toml")
    if "[[step]]" in path.read_text("utf-8")
)


def test_the_schema_that_ships_is_what_the_keys_say() -> None:
    """`python -m simulator.run.scenario_schema` writes it anew."""
    assert SHIPPED.read_text("utf-8") == scenario_schema.text()


@pytest.mark.slow
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_valid(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text("utf-8")), scenario_schema.scenario_schema())


@pytest.mark.parametrize(
    "text",
    [
        "[[step]]\nsql = 1\n",
        '[[step]]\nwait = "5"\n',
        '[[step]]\nwait = "5s"\nover = "5s"\n',
        "seed = 1\n",
        '[[step]]\nsql = "SELECT 1"\nsnapshot = "x"\n',
        'sinkuri = "x"\n[[step]]\nsql = "SELECT 1"\n',
    ],
)
def test_what_the_reader_refuses_is_not_valid(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), json.loads(SHIPPED.read_text("utf-8")))
