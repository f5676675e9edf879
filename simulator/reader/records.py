"""The records of fixtures directories and Kafka topics, and the schemas that they name by id.

Within a partition records come in offset order. Fixtures files are read record by record, or as batches of
RECORD_SCHEMA by columns, with the same result and errors.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias
from urllib.parse import parse_qsl

import pyarrow as pa
import pyarrow.json as pj

from simulator import limits
from simulator.errors import ChangefeedError, UserError, uri_without_secrets
from simulator.files import PARSE_ERRORS, directory_entries, open_file, parse_error_reason, read_text, without_mark
from simulator.reader.decode.message_bytes import decode_base64
from simulator.reader.events import RECORD_SCHEMA, record_batch
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
    with _parquet(shard) as file:
        check_types({field.name: field.type for field in file.schema_arrow})
        for batch in file.iter_batches(columns=list(COLUMNS)):
            yield from records_of_batch(batch)


@contextmanager
def _parquet(shard: FixtureFile) -> Iterator[pq.ParquetFile]:
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
    columns = (_column(batch, name).to_pylist() for name in COLUMNS)
    return (Record(*row) for row in zip(*columns, strict=True))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
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


ROWS = 1 << 14
BYTES = 8 << 20
"""A batch of RECORDS has at most about so many of each: what reads it by columns takes several times as much."""

BLOCK = 8 << 20
"""Bytes of lines that are read at once."""

LINES = pa.schema([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.string()), ("value", pa.string())])
OPTIONS = pj.ParseOptions(explicit_schema=LINES, unexpected_field_behavior="ignore")


Offsets = tuple["int | None", "int | None"]
"""The first offset, and the one after the last; None for all."""


def read_batches(shard: FixtureFile, offsets: Offsets = (None, None)) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file, at least those with these offsets; raises UserError if it is no fixtures file."""
    return _line_batches(shard) if shard.path.suffix == ".jsonl" else _parquet_batches(shard, offsets)


def offset_range(shard: FixtureFile) -> tuple[int, int] | None:
    """Return the first offset of a file and the one after the last, if the format tells them."""
    if shard.path.suffix == ".jsonl":
        return None
    with _parquet(shard) as file:
        ranges = _group_offsets(file)
        known = [each for each in ranges if each is not None]
        return (known[0][0], known[-1][1] + 1) if known and len(known) == len(ranges) else None


def file_size(shard: FixtureFile) -> dict[str, int]:
    """Return the bytes of the file, and its records if the format tells."""
    try:
        size = {"size": shard.path.stat().st_size}
        if shard.path.suffix == ".parquet":
            with _parquet(shard) as file:
                size["records"] = file.metadata.num_rows
    except OSError as error:
        raise UserError(f"cannot read {shard.path}: {error.strerror}") from error
    return size


def _parquet_batches(shard: FixtureFile, offsets: Offsets) -> Iterator[pa.RecordBatch]:
    with _parquet(shard) as file:
        check_types({field.name: field.type for field in file.schema_arrow})
        names = [name for name in COLUMNS if name in RECORD_SCHEMA.names]
        for batch in _group_batches(file, names, offsets):
            columns = [_column(batch, field.name).cast(field.type) for field in RECORD_SCHEMA]
            yield pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)


def _group_offsets(file: pq.ParquetFile) -> list[tuple[int, int] | None]:
    """Return the first and the last offset of each row group; None if it does not tell."""
    place = file.schema_arrow.names.index("offset")
    told = (file.metadata.row_group(number).column(place).statistics for number in range(file.metadata.num_row_groups))
    return [(each.min, each.max) if each is not None and each.has_min_max else None for each in told]


def _group_batches(file: pq.ParquetFile, names: list[str], offsets: Offsets) -> Iterator[pa.RecordBatch]:
    """Merge small adjacent row groups and split large ones."""
    groups: list[int] = []
    rows = size = 0
    (first, behind), there = offsets, _group_offsets(file) if offsets != (None, None) else []
    for number in range(file.metadata.num_row_groups):
        low, high = there[number] or (None, None) if there else (None, None)
        if first is not None and high is not None and high < first:
            continue
        if behind is not None and low is not None and low >= behind:
            break
        group = file.metadata.row_group(number)
        if groups and (rows + group.num_rows > ROWS or size + group.total_byte_size > BYTES):
            yield from _read_groups(file, names, groups, rows, size)
            groups, rows, size = [], 0, 0
        groups.append(number)
        rows, size = rows + group.num_rows, size + group.total_byte_size
    if groups:
        yield from _read_groups(file, names, groups, rows, size)


def _read_groups(
    file: pq.ParquetFile, names: list[str], groups: list[int], rows: int, size: int
) -> Iterator[pa.RecordBatch]:
    batch_rows = max(1, min(ROWS, BYTES * rows // max(1, size)))
    yield from file.iter_batches(batch_rows, row_groups=groups, columns=names, use_threads=False)


def _line_batches(shard: FixtureFile) -> Iterator[pa.RecordBatch]:
    try:
        with open_file(str(shard.path)) as file:
            first_line = 0
            for block in blocks(file):
                check_line(shard, first_line + 1, len(block) - BLOCK)
                yield _records_of_block(shard, first_line, block)
                first_line += block.count(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {shard.path}: {error.strerror}") from error


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Split a file into blocks of whole lines; a line that is too long is not whole."""
    rest: list[bytes] = []
    held = 0
    while block := file.read(BLOCK):
        end = block.rfind(b"\n") + 1
        if end or held > limits.LINE_BYTES:
            yield b"".join([*rest, block[:end]])
            rest, held = [], 0
        rest.append(block[end:])
        held += len(block) - end
    if held:
        yield b"".join(rest)


def _records_of_block(shard: FixtureFile, first_line: int, block: bytes) -> pa.RecordBatch:
    """Parse a block by columns if every line has the form that the fixtures sink writes, else line by line."""
    try:
        table = pj.read_json(pa.BufferReader(block), pj.ReadOptions(block_size=BLOCK << 1), OPTIONS)
        batch = next(iter(table.combine_chunks().to_batches()), None)
        if batch is not None and _is_whole(batch, block):
            keys, values = (decode_base64(batch.column(name)) for name in ("key", "value"))
            return pa.RecordBatch.from_arrays(
                [batch.column("offset"), batch.column("timestamp"), keys, values], schema=RECORD_SCHEMA
            )
    except (pa.ArrowException, ValueError):
        pass  # `record_of_line` says what is wrong, or that nothing is
    read = [record_of_line(shard, first_line + place, line) for place, line in enumerate(block.splitlines(True), 1)]
    return record_batch([getattr(record, name) for record in read] for name in RECORD_SCHEMA.names)


def _is_whole(batch: pa.RecordBatch, block: bytes) -> bool:
    """Return whether every line has all members; a key or value may be null."""
    return (
        batch.num_rows == block.count(b"\n") + (not block.endswith(b"\n"))
        and not batch.column("offset").null_count + batch.column("timestamp").null_count
        and all(
            block.count(b'"%s":' % name.encode()) == batch.num_rows
            for name in ("key", "value")
            if batch.column(name).null_count
        )
    )


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
