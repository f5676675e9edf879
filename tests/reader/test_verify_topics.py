"""Topics of a real Kafka are verified: complete ones, ones that are being written, and incomplete ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from support.playing import play

from simulator.errors import DeliveryError, UserError
from simulator.reader import truth_metadata
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyListener, VerifyOptions
from simulator.reader.verify.reading import FollowProgress
from simulator.reader.verify.verification import RIGHT, UNFINISHED

STORY = """
resolved-interval = "1s"
[[step]]
over = "3s"
sql = '''
CREATE DATABASE shop;
CREATE TABLE shop.a (id INT PRIMARY KEY, n INT);
INSERT INTO shop.a VALUES (1, 1), (2, 2), (3, 3);
UPDATE shop.a SET n = n + 1;
'''
[[step]]
name = "more"
over = "3s"
sql = "DELETE FROM shop.a WHERE id = 2; INSERT INTO shop.a VALUES (4, 4);"
"""


class Heard(VerifyListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.waited: list[str] = []

    def waits(self, said: str) -> None:
        self.waited.append(said)


@pytest.mark.parametrize("protocol", ["canal-json&enable-tidb-extension=true", "simple&encoding-format=avro"])
def test_a_topic_is_followed_until_partitions_have_the_final_watermark(
    kafka: str, tmp_path: Path, protocol: str
) -> None:
    """It is waited for from before the first record on, and read when it is whole; without following it is said to be
    unfinished."""
    story, truth = tmp_path / "story.toml", tmp_path / "truth"
    story.write_text(STORY, "utf-8")
    uri = f"kafka://{kafka}/verify-followed-{protocol[:5]}?protocol={protocol}&partition-num=2"
    assert play("run", story, "--sink-uri", uri, "--fixtures", tmp_path / "out", "--truth", truth) == 0
    assert play("run", story, "--sink-uri", uri, "--until", "1") == 0
    source, heard = uri.split("?")[0], Heard()

    assert verify(VerifyOptions(source, truth=truth)).verdict == UNFINISHED
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(verify, VerifyOptions(source, truth=truth, follow=True), heard)
        while not heard.waited:
            assert not found.done() or found.result()
        assert play("run", story, "--sink-uri", uri, "--from", "more") == 0
        verification = found.result(timeout=60)

    assert (verification.verdict, verification.failures) == (RIGHT, ())
    assert verification.watermark == truth_metadata.read(truth).final_watermark
    assert heard.waited[-1].startswith("all 2 partitions have the watermark ")
    assert heard.waited[0].startswith("0 of 2 partitions have the watermark ")


def test_a_topic_with_lost_and_foreign_messages_is_verified(kafka: str, tmp_path: Path) -> None:
    """Messages that Kafka's retention removed are no violation; foreign messages are, each with its location."""
    story, truth = tmp_path / "story.toml", tmp_path / "truth"
    story.write_text(STORY, "utf-8")
    uri = f"kafka://{kafka}/verify-cut?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    assert play("run", story, "--sink-uri", uri, "--truth", truth) == 0
    with closing(KafkaAdminClient(bootstrap_servers=kafka)) as admin:
        admin.delete_records({TopicPartition("verify-cut", number): 4 for number in range(2)})
    with closing(KafkaProducer(bootstrap_servers=kafka)) as producer:
        stranger = producer.send("verify-cut", b"no message of a changefeed", partition=1).get(timeout=60)
    found = verify(VerifyOptions(uri.split("?")[0], truth=truth))

    assert [(failure.check, failure.count) for failure in found.failures] == [("foreign", 1)]
    assert found.failures[0].examples[0].place == f"verify-cut/1@{stranger.offset}"
    assert {place.first_offset for place in found.partitions} == {4}
    assert [note for note in found.notes if "begins in the middle, at offset 4" in note]
    assert [each.what for each in found.not_checked if "shop.a that no row change here is about" in each.what]


def test_the_progress_of_following_names_the_slowest_partition() -> None:
    """A consumer waits for that partition, too."""
    followed = FollowProgress(455000619746590720, {("t", 0): 455000619746590720, ("t", 1): 0})

    assert str(followed) == (
        "1 of 2 partitions have the watermark 455000619746590720 (2025-01-01 00:00:20.005 UTC); t/1 has shown none yet"
    )


def test_several_topics_are_one_stream(kafka: str, tmp_path: Path) -> None:
    """A changefeed's watermarks are in all of them."""
    story, config, truth = tmp_path / "story.toml", tmp_path / "cf.toml", tmp_path / "truth"
    story.write_text(
        STORY.replace(
            "INSERT INTO shop.a",
            "CREATE TABLE shop.b (id INT PRIMARY KEY); INSERT INTO shop.b VALUES (7); INSERT INTO shop.a",
            1,
        ),
        "utf-8",
    )
    config.write_text('[sink]\ndispatchers = [{matcher = ["*.*"], topic = "verify-{schema}-{table}"}]\n', "utf-8")
    uri = f"kafka://{kafka}/verify-default?protocol=open-protocol&partition-num=1"
    assert play("run", story, "--sink-uri", uri, "--config", config, "--truth", truth) == 0
    topics = ",".join(truth_metadata.read(truth).topics)
    found = verify(VerifyOptions(f"kafka://{kafka}/{topics}", truth=truth))

    assert (found.verdict, found.failures) == (RIGHT, ())
    assert {place.topic for place in found.partitions} >= {"verify-shop-a", "verify-shop-b"}
    with pytest.raises(UserError, match="that one wrote to verify-.*, too, which SOURCE does not have"):
        verify(VerifyOptions(f"kafka://{kafka}/verify-shop-a", truth=truth))


def test_topics_that_a_statement_left_without_tables_are_not_waited_for(kafka: str, tmp_path: Path) -> None:
    """They get no more watermarks."""
    story, config, truth = tmp_path / "story.toml", tmp_path / "cf.toml", tmp_path / "truth"
    last = "[[step]]\nover = '3s'\nsql = 'DROP DATABASE shop'\n[[step]]\nwait = '2s'\n"
    story.write_text(STORY + last, "utf-8")
    config.write_text('[sink]\ndispatchers = [{matcher = ["*.*"], topic = "left-{schema}-{table}"}]\n', "utf-8")
    uri = f"kafka://{kafka}/left-default?protocol=open-protocol&partition-num=1"
    assert play("run", story, "--sink-uri", uri, "--config", config, "--truth", truth) == 0
    topics = ",".join(truth_metadata.read(truth).topics)
    found = verify(VerifyOptions(f"kafka://{kafka}/{topics}", truth=truth, follow=True))

    assert (found.verdict, found.failures) == (RIGHT, ())


def test_a_missing_topic_and_a_wrong_broker_are_reported(kafka: str) -> None:
    """The error is one line."""
    with pytest.raises(UserError, match="there is no topic 'verify-nowhere'"):
        verify(VerifyOptions(f"kafka://{kafka}/verify-nowhere"))
    with pytest.raises(DeliveryError, match="127.0.0.1:9"):
        verify(VerifyOptions("kafka://127.0.0.1:9/t?dial-timeout=1s"))
