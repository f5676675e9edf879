"""The keys of the step `generate`, and their JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.errors import UserError
from simulator.generate.model import Uniform
from simulator.generate.rounds import Round
from simulator.generate.values.reading import DISTRIBUTIONS, parse_columns, parse_skew
from simulator.run.steps.generate import MOST, ROWS_PER_TRANSACTION, GenerateStep
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace
from simulator.settings import DURATION, Key, table_schema, to_count, to_duration_ms, to_seed, to_text


def _to_table(value: object) -> str:
    text = to_text(value)
    if not all(text.split(".", 1)):
        raise UserError(f"expected a table such as 'shop.item', got {text!r}")
    return text


def _step(table: str, values: Mapping[str, Any], place: StepPlace) -> GenerateStep:
    wanted = Round(*(values.get(name, 0) for name in Round._fields))
    if not wanted.rows:
        raise UserError(f"nothing is to be done: at least one of {', '.join(Round._fields)} is expected")
    return GenerateStep(
        table,
        wanted,
        values.get("rows_per_transaction", ROWS_PER_TRANSACTION),
        values.get("over_ms"),
        values.get("seed"),
        values.get("columns", {}),
        values.get("skew", Uniform()),
        f"{place.file}: {place.where('generate')}",
    )


COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0, "maximum": MOST}
SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}
BOUND: Mapping[str, Any] = {"type": ["number", "string"]}
SHARE: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0}
COLUMN: Mapping[str, Any] = {
    "min": BOUND,
    "max": BOUND,
    "faker": {"type": "string"},
    "value": SCALAR,
    "null": {"type": "number", "minimum": 0, "maximum": 1},
    "choice": {"type": "array", "items": SCALAR, "minItems": 1},
    "weights": {"type": "array", "items": {"type": "number", "minimum": 0}},
    "sequence": {"type": "integer"},
    "step": {"type": "integer"},
    "distribution": {"enum": [*DISTRIBUTIONS]},
    **dict.fromkeys(("mean", "deviation", "exponent"), {"type": "number"}),
    "text": {"oneOf": [COUNT, table_schema({"min": COUNT, "max": COUNT}, "min", "max")]},
    "reference": {"type": "string"},
    "time": {"enum": ["born", "changed"]},
}
COLUMNS: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "oneOf": [SCALAR, {"type": "array", "items": SCALAR, "minItems": 1}, table_schema(COLUMN)]
    },
}
SKEW: Mapping[str, Any] = {
    "oneOf": [
        {"const": "uniform"},
        table_schema({"zipf": SHARE}, "zipf"),
        table_schema({"hot": SHARE, "updates": SHARE}, "hot", "updates"),
    ]
}
ROWS, ROWS_OF_TRANSACTION = to_count(0, MOST), to_count(1, MOST)
KEYS: Mapping[str, Key] = {
    "inserts": Key("inserts", ROWS, COUNT, "How many rows come."),
    "updates": Key("updates", ROWS, COUNT, "How many rows that are there change."),
    "deletes": Key("deletes", ROWS, COUNT, "How many rows go."),
    "over": Key("over_ms", to_duration_ms, DURATION, "Simulated time over which its transactions are spread."),
    "seed": Key("seed", to_seed, {"type": "integer"}, "Chooses the values and the rows; the run's if unsaid."),
    "rows-per-transaction": Key(
        "rows_per_transaction", ROWS_OF_TRANSACTION, {**COUNT, "minimum": 1}, "How many rows a transaction is about."
    ),
    "columns": Key(
        "columns",
        parse_columns,
        COLUMNS,
        "By column: a provider of Faker, a list to choose from, {min, max}, a number, or another generator.",
    ),
    "skew": Key(
        "skew", parse_skew, SKEW, "Which rows updates choose: uniform, {zipf = 1.1} or {hot = 0.01, updates = 0.9}."
    ),
}
KIND = StepKind(
    _to_table,
    _step,
    (KeyGroup(KEYS, "only a step generate makes so many rows"),),
    changes=True,
    says="So many inserts, updates and deletes on a table, from a seed.",
)
