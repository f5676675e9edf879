"""The JSON Schema of scenario files, for editors, generated from the keys that the parser knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.run.scenario import ABOUT, KEYS
from simulator.run.steps import STEPS
from simulator.run.steps.kind import NAME, NAME_KEY, StepKind
from simulator.settings import SETTINGS, Key, table_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ID = "urn:ticdc-simulator:scenario"
"""The name by which other schemas refer to this one."""


def scenario_schema() -> dict[str, Any]:
    """Return the schema of a whole file."""
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
