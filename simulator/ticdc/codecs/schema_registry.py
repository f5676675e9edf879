"""Schema registries: an id for each schema, which messages hold instead of it.

A message begins with a byte 0 and the id of its schema in 4 bytes (Confluent's wire format). TiCDC remembers the last
schema of a subject with the version of its table, and asks the registry only for another version. So the second of two
tables with one topic and one version gets the schema of the first (tiflow v8.5.7: pkg/sink/codec/avro/
confluent_schema_registry.go GetCachedOrRegister).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from simulator.columns.cells import binary, stored_buffers
from simulator.errors import EncodeError
from simulator.ticdc.codecs.row_changes import EncodedRows, Schema

HEADER = bytes(5)
"""The bytes before a record, with the id 0, which no registry gives."""


class SchemaRegistry(Protocol):
    """A registry, of this process or elsewhere."""

    def register(self, subject: str, text: str) -> int:
        """Return the id of a schema, which is registered under the subject unless it is there.

        Raises EncodeError if the registry refuses the schema.
        """


class SchemaIds(Protocol):
    """Gives the ids of schemas, in protocols that have any."""

    def id_of(self, schema: Schema) -> int:
        """Return the id for messages; raise EncodeError if TiCDC stops at the schema."""

    def assign(self, schemas: Iterable[Schema]) -> SchemaIds:
        """Return the ids of these schemas alone, for tasks in any process; an error is kept for `id_of`."""


@dataclass
class LocalRegistry:
    """A registry of this process: ids from 1, one for each text, in the order of registration."""

    ids: dict[str, int] = field(default_factory=dict)
    """Ids by the text of schemas."""

    subjects: dict[int, list[str]] = field(default_factory=dict)
    """The subjects of each id, in the order of registration."""

    def register(self, subject: str, text: str) -> int:
        number = self.ids.setdefault(text, len(self.ids) + 1)
        subjects = self.subjects.setdefault(number, [])
        if subject not in subjects:
            subjects.append(subject)
        return number


@dataclass
class SchemaManager:
    """A registry behind TiCDC's memory of each subject's last schema."""

    registry: SchemaRegistry = field(default_factory=LocalRegistry)
    last: dict[str, tuple[Schema, int]] = field(default_factory=dict)
    """The last schema of each subject, and its id."""

    known: dict[int, Schema] = field(default_factory=dict)
    """The schemas by id, each as it was registered first."""

    assigned: dict[Schema, int | EncodeError] = field(default_factory=dict)
    """The ids given before the rows were encoded, and the errors of schemas that have none."""

    @property
    def texts(self) -> dict[int, str]:
        """The texts of all schemas, by id."""
        return {number: schema.text for number, schema in dict(self.known).items()}

    def assign(self, schemas: Iterable[Schema]) -> AssignedSchemas:
        for schema in schemas:
            if schema not in self.assigned:
                try:
                    self.assigned[schema] = self.id_of(schema)
                except EncodeError as error:
                    self.assigned[schema] = error
        return AssignedSchemas(dict(self.assigned))

    def id_of(self, schema: Schema) -> int:
        """Return the id for messages; raise EncodeError if TiCDC would encode with the schema of another table."""
        if schema.subject in self.last:
            known, number = self.last[schema.subject]
            if known.version == schema.version != 0:
                _require_same_fields(schema, known)
                return number
        number = self.registry.register(schema.subject, schema.text)
        self.last[schema.subject] = schema, number
        self.known.setdefault(number, schema)
        return number


@dataclass(frozen=True)
class AssignedSchemas:
    """The ids of a run's schemas, which were registered before its rows are encoded."""

    ids: Mapping[Schema, int | EncodeError]

    def id_of(self, schema: Schema) -> int:
        found = self.ids[schema]
        if isinstance(found, EncodeError):
            raise found
        return found

    def assign(self, schemas: Iterable[Schema]) -> AssignedSchemas:
        return self


def _require_same_fields(schema: Schema, known: Schema) -> None:
    if schema.text == known.text:
        return
    ours, other = json.loads(schema.text), json.loads(known.text)
    if missing := _branches(ours) - _branches(other):
        allowed, name = " ".join(sorted(_branches(other))), other["name"]
        raise EncodeError(
            f'cannot encode binary record "{name}": cannot encode binary union: no member schema types support datum: '
            f"{min(missing)}; allowed types: {allowed}: both have the subject {schema.subject} and one schema version",
            "CDC:ErrAvroEncodeToBinary",
        )
    if _nameless(ours) != _nameless(other):
        raise EncodeError(
            f"TiCDC would encode rows of {ours['name']} with the schema of {other['name']}: both have the subject "
            f"{schema.subject} and the schema version {schema.version}; give each table a topic of its own, "
            "{schema}_{table}"
        )


def _branches(part: Any) -> frozenset[str]:
    """Return the names of the records in unions."""
    if isinstance(part, list):
        return frozenset().union(*map(_branches, part))
    if not isinstance(part, dict):
        return frozenset()
    union = part["type"] if isinstance(part.get("type"), list) else ()
    own = (f"{each['namespace']}.{each['name']}" for each in union if isinstance(each, dict) and "name" in each)
    return frozenset(own).union(*map(_branches, part.values()))


def _nameless(part: Any) -> Any:
    """Return a type without the names of its records."""
    if isinstance(part, list):
        return [_nameless(each) for each in part]
    if not isinstance(part, dict):
        return part
    named = ("name", "namespace", "connect.name") if "fields" in part else ()
    return {key: _nameless(value) for key, value in part.items() if key not in named}


def with_schema_ids(encoded: EncodedRows, ids: SchemaIds) -> EncodedRows:
    """Return the rows with the ids of their schemas in keys and values; rows without schemas as they are."""
    keys, values = encoded.keys, encoded.values
    if encoded.key_schema is not None and keys is not None:
        keys = _with_id(keys, ids.id_of(encoded.key_schema))
    if encoded.value_schema is not None:
        values = _with_id(values, ids.id_of(encoded.value_schema))
    return replace(encoded, keys=keys, values=values)


def _with_id(cells: pa.Array, number: int) -> pa.Array:
    """Return the cells with the id in their headers; nulls, and cells without a header, stay as they are."""
    data, offsets = stored_buffers(cells)
    starts = offsets[:-1][offsets[1:] > offsets[:-1]]
    starts = starts[data[starts] == HEADER[0]]
    written = data.copy()
    for place, byte in enumerate(number.to_bytes(4, "big"), 1):
        written[starts + place] = byte
    return binary(written, offsets, cells)
