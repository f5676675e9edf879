"""Recorded streams as partitions: reading batches gives the same as reading record by record."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from simulator.errors import UserError
from simulator.reader.partitions import StreamPartition, partitions
from simulator.reader.records import Record, read_records
from simulator.sinks import SINKS
from simulator.sinks.files import begin, commit
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.records import Records

TOPICS = {"orders": 2, "stock": 1}


def sent(rows: int) -> Records:
    """Records over both topics, some without key or value."""
    places = np.arange(rows)
    topic, partition = places % 3 // 2, np.where(places % 3 == 2, 0, places % 3)
    keys = [None if place % 5 == 0 else b"key %d" % place for place in range(rows)]
    values = [None if place % 7 == 0 else bytes(range(place % 256)) for place in range(rows)]
    return Records(
        pa.array(topic, pa.int32()),
        pa.array(partition, pa.int32()),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(np.full(rows, 77), pa.int64()),
    )


def fixtures(directory: Path, format: str, rows: int = 1000) -> Path:
    """A directory that the sink of fixtures wrote."""
    settings = begin(directory, format)
    sink = SINKS[format](settings, list(TOPICS))
    sink.write(sent(rows))
    sink.close()
    commit(settings, TOPICS)
    return directory


def contents(records: list[Record]) -> Counter[tuple[bytes | None, bytes | None]]:
    return Counter((record.key, record.value) for record in records)


def contents_sent(rows: int) -> Counter[tuple[bytes | None, bytes | None]]:
    return Counter(zip(sent(rows).key.to_pylist(), sent(rows).value.to_pylist()))


def records(found: list[StreamPartition]) -> list[Record]:
    """Those of partitions, one after another."""
    return [
        Record(partition.topic, partition.partition, *row.values())
        for partition in found
        for batch in partition.batches()
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_directory_is_read_the_same_by_columns(tmp_path: Path, format: str) -> None:
    directory = fixtures(tmp_path / "out", format)
    found = partitions(directory)
    assert [("orders", 0), ("orders", 1), ("stock", 0)] == [partition.place for partition in found]
    assert list(read_records(str(directory))) == records(found) == records(pickle.loads(pickle.dumps(found)))
    assert contents_sent(1000) == contents(records(found))


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_partition_is_read_between_two_offsets(tmp_path: Path, format: str) -> None:
    """A reader that waits for more records reads none twice."""
    partition = replace(partitions(fixtures(tmp_path / "out", format))[0], first=5, next=9)
    assert [5, 6, 7, 8] == [record.offset for record in records([partition])]


def test_lines_of_other_tools_are_read_too(tmp_path: Path) -> None:
    """Members may have another order, spaces, and unknown names."""
    path = tmp_path / "t" / "0.jsonl"
    path.parent.mkdir()
    value = b64encode(b"v").decode()
    path.write_text(
        '{"value":"%s","key":null,"timestamp":7,"offset":0}\n' % value
        + json.dumps({"offset": "1", "timestamp": 8, "key": value, "value": None, "headers": {"key": 1}})
    )
    assert [Record("t", 0, 0, 7, None, b"v"), Record("t", 0, 1, 8, b"v", None)] == records(partitions(tmp_path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"offset":0', ".*delimiter"),
        ('{"offset":0,"timestamp":0,"key":null}', "member 'value' is missing"),
        ('{"offset":0,"timestamp":0,"key":null,"value":"?"}', r"bad base64 '\?'"),
        ('{"offset":null,"timestamp":0,"key":null,"value":null}', ""),
        ("[]", ""),
    ],
)
def test_a_broken_line_gives_the_same_error(tmp_path: Path, line: str, reason: str) -> None:
    """The error has the line number."""
    path = tmp_path / "t" / "0.jsonl"
    path.parent.mkdir()
    path.write_text('{"offset":0,"timestamp":0,"key":null,"value":null}\n' + line)
    with pytest.raises(UserError, match=f"{path}, line 2: {reason}") as expected:
        list(read_records(str(tmp_path)))
    with pytest.raises(UserError) as found:
        records(partitions(tmp_path))
    assert str(expected.value) == str(found.value)


def test_a_duplicate_partition_is_rejected(tmp_path: Path) -> None:
    directory = fixtures(tmp_path / "out", "jsonl")
    with pytest.raises(UserError, match="orders/0 is there twice: .*0.jsonl and .*0.jsonl"):
        partitions([directory, directory])


@pytest.mark.kafka
def test_topics_are_read_up_to_their_end(kafka: str) -> None:
    """Several topics may have one address; later records belong to a later reading."""
    settings = KafkaSettings((kafka,), client_id="reader")
    topics = {f"{topic}-by-partition": count for topic, count in TOPICS.items()}
    ready = prepare_topics(settings, topics).settings
    sink = SINKS["kafka"](ready, list(topics))
    sink.write(sent(1000))
    sink.close()
    address = f"kafka://{kafka}/{','.join(topics)}"
    found = partitions(address)
    assert {(topic, number) for topic, count in topics.items() for number in range(count)} == {
        partition.place for partition in found
    }
    assert contents_sent(1000) == contents(records(found))
    once = [record for topic in topics for record in read_records(f"kafka://{kafka}/{topic}")]
    assert sorted(once, key=lambda record: (record.topic, record.partition, record.offset)) == records(found)
    part = replace(found[0], first=10, next=12)
    assert [10, 11] == [record.offset for record in records([part])]
    with pytest.raises(UserError, match="there is no topic 'nothing'"):
        partitions(f"kafka://{kafka}/nothing")
