"""The JSON Schema of scenario files, from which editors complete them: made of the keys that the reader knows.

One law: the file that ships is what this gives: `python -m simulator.run.scenario_schema` prints it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simulator.run.scenario_about import ABOUT, KEYS
from simulator.run.steps import STEPS
from simulator.run.steps.kind import NAME, NAME_KEY, StepKind
from simulator.settings import SETTINGS, Key

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> dict[str, Any]:
    """The schema of a whole file."""
    steps = [step for name, kind in STEPS.items() for step in (_choices(name, kind) or [_step(name, kind)])]
    properties = {key: _property(value) for key, value in SETTINGS.items()}
    properties[ABOUT] = {
        "type": "object",
        "description": "What the scenario says of itself.",
        "additionalProperties": False,
        "properties": {key: _property(value) for key, value in KEYS.items()},
    }
    properties["step"] = {"type": "array", "minItems": 1, "items": {"oneOf": steps}}
    return {
        "$schema": DIALECT,
        "title": "A scenario of ticdc-sim",
        "type": "object",
        "properties": properties,
        "required": ["step"],
        "additionalProperties": False,
    }


def _step(name: str, kind: StepKind) -> dict[str, Any]:
    keys: Mapping[str, Key] = {key: value for group in kind.groups for key, value in group.keys.items()}
    properties = {name: {**kind.type, "description": kind.says}, NAME: _property(NAME_KEY)}
    properties |= {key: _property(value) for key, value in keys.items()}
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": [name],
        "additionalProperties": False,
    }


def _choices(name: str, kind: StepKind) -> list[dict[str, Any]]:
    """A kind whose values have keys of their own."""
    return [
        {
            "title": f"{name} {value}",
            "type": "object",
            "properties": {
                name: {"const": value, "description": choice.says},
                NAME: _property(NAME_KEY),
                **{key: _property(known) for key, known in choice.keys.items()},
            },
            "required": [name, *choice.needs],
            "additionalProperties": False,
        }
        for value, choice in kind.choices.items()
    ]


def _property(key: Key) -> dict[str, Any]:
    return {**key.type, "description": key.says} if key.says else dict(key.type)


def text() -> str:
    """As the file has it."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
