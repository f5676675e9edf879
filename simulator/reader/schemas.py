"""The schemas that messages name by id: those beside fixtures, and those of a registry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from simulator.errors import UserError
from simulator.files import PARSE_ERRORS, parse_error_reason, read_text
from simulator.sinks.files.directory import SCHEMAS
from simulator.sinks.schema_registry import RegistrySchemas


def fixture_schemas(directory: Path) -> dict[int, str]:
    """Return the schemas of a fixtures directory by id; none if it has no file of them. Raises UserError."""
    path = directory / SCHEMAS
    if not path.exists():
        return {}
    text = read_text(path)
    try:
        return {int(id): _text(member["schema"]) for id, member in json.loads(text).items()}
    except PARSE_ERRORS as error:
        form = '{"1": {"subject": …, "schema": …}, …}'
        reason = parse_error_reason(error) if isinstance(error, json.JSONDecodeError) else f"it is not {form}"
        raise UserError(f"{path} cannot be read: {reason}") from error


def source_schemas(source: str | Path, registry: str | None = None) -> Mapping[int, str]:
    """Return the schemas of the registry at a URL, or those beside the messages of fixtures; else none."""
    if registry is not None:
        return RegistrySchemas(registry)
    return {} if "://" in str(source) else fixture_schemas(Path(source))


def _text(schema: object) -> str:
    """Return the JSON of a schema; raises ValueError for other text."""
    if not isinstance(schema, str):
        raise TypeError("a schema is a text")
    json.loads(schema)
    return schema
