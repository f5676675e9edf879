"""The records of fixtures directories and Kafka topics, and the schemas that they name by id.

Within a partition records come in offset order. `record_batches` reads fixtures by columns.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

import pyarrow as pa

from simulator import limits
from simulator.errors import ChangefeedError, UserError, uri_without_secrets
from simulator.files import PARSE_ERRORS, directory_entries, open_file, parse_error_reason, read_text, without_mark
from simulator.sinks.files import SCHEMAS
from simulator.sinks.records import Record
from simulator.sinks.schema_registry import RegistrySchemas
from simulator.ticdc.changefeed import Kafka, parse_kafka_uri
from simulator.ticdc.changefeed.protocols import SPELLINGS

if TYPE_CHECKING:
    import pyarrow.parquet as pq


TopicPartition: TypeAlias = "tuple[str, int]"
"""Topic and partition."""


@dataclass(frozen=True)
class FixtureFile:
    """The file of one partition in a fixtures directory."""

    topic: str
    partition: int
    path: Path


def read_records(
    source: str, follow: bool = False, warn: Callable[[Iterable[str]], object] = tuple
) -> Iterator[Record]:
    """Yield the records of a fixtures directory or of `kafka://host:port/topic`, partition by partition.

    With `follow` the topic is read endlessly. `warn` receives parameters of the address without effect, and files that
    are not read. Raises UserError for a missing directory, a directory without fixtures, or a broken line.
    """
    if "://" in source:
        return kafka_records(source, follow, warn)
    if follow:
        raise UserError(f"{source} is a directory: only kafka://host:port/topic can be followed")
    shards = fixture_files(Path(source))
    warn(skipped_files(_skipped(Path(source), {shard.path for shard in shards})))
    return (record for shard in shards for record in FORMATS[shard.path.suffix](shard))


def _skipped(directory: Path, read: Collection[Path]) -> Iterator[Path]:
    """Yield the files that may be meant as fixtures: by their suffix, or as they lie beside some."""
    topics = {directory, *(path.parent for path in read)}
    for path in _files(directory):
        if path not in read and path.name != SCHEMAS and (path.suffix in FORMATS or path.parent in topics):
            yield path


def skipped_files(paths: Iterable[Path | str]) -> list[str]:
    """Return a line that names the files that are not read, or none."""
    names = [repr(str(path)) for path in paths]
    more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
    return [f"not read, as no changefeed gives files such names: {', '.join(names[:FEW])}{more}"] if names else []


FEW = 5
"""Names of files that are shown."""


def fixture_files(directory: Path) -> list[FixtureFile]:
    """Return the files DIR/<topic>/<partition>.jsonl or .parquet by topic and number; raises UserError if there are
    none."""
    try:
        paths = [path for path in _files(directory) if path.suffix in FORMATS and path.stem.isdecimal()]
    except UserError as error:
        raise UserError(
            f"{error}; a fixtures directory, kafka://host:port/topic or a storage such as file:///directory is expected"
        ) from None
    files = sorted(
        (FixtureFile(path.parent.name, int(path.stem), path) for path in paths),
        key=lambda shard: (shard.topic, shard.partition, shard.path.suffix),
    )
    if not files:
        raise UserError(f"no fixtures in {directory}: <topic>/<partition>.jsonl or .parquet is expected")
    for shard, other in zip(files, files[1:]):
        if (shard.topic, shard.partition) == (other.topic, other.partition):
            raise UserError(f"two files for one partition: {shard.path} and {other.path}; keep one")
    return files


def jsonl_records(shard: FixtureFile) -> Iterator[Record]:
    """Yield records of lines `{"offset", "timestamp", "key", "value"}`, key and value base64 or null."""
    try:
        with open_file(str(shard.path)) as lines:
            number = 0
            while line := lines.readline(limits.LINE_BYTES + 1):
                number += 1
                check_line(shard, number, len(line))
                yield record_of_line(shard, number, line)
    except OSError as error:
        raise UserError(f"cannot read {shard.path}: {error.strerror}") from error


def check_line(shard: FixtureFile, number: int, size: int) -> None:
    """Raise UserError for a line that is too long."""
    if size > limits.LINE_BYTES:
        most = limits.size(limits.LINE_BYTES)
        raise UserError(f"{shard.path}:{number}: the line is too long: at most {most} are accepted")


def parquet_records(shard: FixtureFile) -> Iterator[Record]:
    """Yield records of a file with the columns of Spark's Kafka source."""
    with opened_parquet(shard) as file:
        check_types({field.name: field.type for field in file.schema_arrow})
        for batch in file.iter_batches(columns=list(COLUMNS)):
            yield from records_of_batch(batch)


@contextmanager
def opened_parquet(shard: FixtureFile) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; raises UserError, also for errors of reading it."""
    import pyarrow.parquet as pq  # it takes long, and few commands read one

    try:
        with open_file(str(shard.path)) as opened, pq.ParquetFile(opened) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        expected = f"a Parquet file with the columns {', '.join(COLUMNS)}"
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{shard.path}: cannot be read, {expected} is expected: {why}") from error


COLUMNS = {
    "topic": ("string",),
    "partition": ("int32", "int64"),
    "offset": ("int64",),
    "timestamp": ("timestamp", "int64"),
    "key": ("binary",),
    "value": ("binary",),
}
"""The columns of Spark's Kafka source, with Arrow's names of the accepted types."""


def check_types(types: Mapping[str, Any]) -> None:
    """Raise ValueError for a column that is missing or has another type."""
    for name, accepted in COLUMNS.items():
        if name not in types:
            raise ValueError(f"column {name} is missing")
        kind = str(types[name]).removeprefix("large_").partition("[")[0]
        if kind not in accepted:
            raise ValueError(f"column {name} is {types[name]}, not {' or '.join(accepted)}")


def records_of_batch(batch: pa.RecordBatch) -> Iterator[Record]:
    """Yield the records of an Arrow batch with the columns of Spark's Kafka source."""
    columns = (record_column(batch, name).to_pylist() for name in COLUMNS)
    return (Record(*row) for row in zip(*columns, strict=True))


def record_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of Spark's Kafka source, times in milliseconds."""
    array = batch.column(name)
    return array.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()) if pa.types.is_timestamp(array.type) else array


FORMATS = {".jsonl": jsonl_records, ".parquet": parquet_records}


def kafka_records(
    source: str, follow: bool = False, warn: Callable[[Iterable[str]], object] = tuple
) -> Iterator[Record]:
    """Yield the records of `kafka://host:port[,host:port]/topic`; TLS and SASL parameters are those of a sink-uri."""
    topic, kafka, warnings = kafka_topic(source, source)
    warn(warnings)
    from simulator.sinks.kafka import of_changefeed
    from simulator.sinks.kafka.read import read_topic

    yield from read_topic(of_changefeed(kafka), topic, follow=follow)


def check_protocol(protocol: str | None, source: str) -> None:
    """Raise UserError if the URI of a source tells another protocol."""
    told = dict(parse_qsl(source.partition("?")[2])).get("protocol", "").lower()
    if protocol and told and SPELLINGS.get(told, SPELLINGS[protocol]) != SPELLINGS[protocol]:
        shown = uri_without_secrets(source)
        raise UserError(f"--protocol {protocol} and protocol={told} of {shown} differ: give one of them")


def kafka_topic(uri: str, source: str) -> tuple[str, Kafka, tuple[str, ...]]:
    """Return the topic of a URI of one topic, its options and warnings; raises UserError, which names the source."""
    try:
        return parse_kafka_uri(uri)
    except ChangefeedError as error:
        raise UserError(f"{uri_without_secrets(source)} is no topic to read: {error.text}") from error


def _files(directory: Path) -> Iterator[Path]:
    """Yield what is in a directory and its directories."""
    for entry in directory_entries(directory):
        yield from directory_entries(entry) if entry.is_dir() else [entry]


def record_of_line(shard: FixtureFile, number: int, line: bytes) -> Record:
    """Return the record on a line; raises UserError."""
    if number == 1:
        line = without_mark(line, shard.path)
    try:
        document = json.loads(line)
        key, value = (_bytes(document[name]) for name in ("key", "value"))
        offset, timestamp = (_int64(name, document[name]) for name in ("offset", "timestamp"))
        return Record(shard.topic, shard.partition, offset, timestamp, key, value)
    except KeyError as error:
        why = f"member {error} is missing"
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        why = parse_error_reason(error)
    shape = '{"offset": 0, "timestamp": 0, "key": base64 or null, "value": base64 or null}'
    raise UserError(f"{shard.path}, line {number}: {why}; expected {shape}")


def _int64(name: str, value: Any) -> int:
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{name} {number} is not an integer of 64 bits")
    return number


def _bytes(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"bad base64 {text[:40]!r} ({error})") from error


def fixture_schemas(directory: Path) -> dict[int, str]:
    """Return the schemas of a fixtures directory by id; none if it has no file of them. Raises UserError."""
    path = directory / SCHEMAS
    if not path.exists():
        return {}
    text = read_text(path)
    try:
        return {int(id): _schema_text(member["schema"]) for id, member in json.loads(text).items()}
    except PARSE_ERRORS as error:
        form = '{"1": {"subject": …, "schema": …}, …}'
        reason = parse_error_reason(error) if isinstance(error, json.JSONDecodeError) else f"it is not {form}"
        raise UserError(f"{path} cannot be read: {reason}") from error


def source_schemas(source: str | Path, registry: str | None = None) -> Mapping[int, str]:
    """Return the schemas of the registry at a URL, or those beside the messages of fixtures; else none."""
    if registry is not None:
        return RegistrySchemas(registry)
    return {} if "://" in str(source) else fixture_schemas(Path(source))


def _schema_text(schema: object) -> str:
    """Return the JSON of a schema; raises ValueError for other text."""
    if not isinstance(schema, str):
        raise TypeError("a schema is a text")
    json.loads(schema)
    return schema
