"""Where the messages of a server's changefeeds go: to what their sink-uri names, to fixtures, or nowhere but memory."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from simulator.errors import ChangefeedError, UserError, uri_without_secrets
from simulator.releases import Release
from simulator.run.outputs import FilesOutput, KafkaOutput, MemoryOutput, Output, StorageOutput
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed


@dataclass(frozen=True)
class Sinks:
    """How the sink of a changefeed is chosen."""

    sends: bool = False
    """Whether messages go to Kafka; if not, and without `fixtures`, they stay in memory."""

    fixtures: Path | None = None
    """The directory of a changefeed's messages in place of Kafka."""

    fixtures_format: str = "jsonl"
    kafka_timeout: float = KafkaSettings.silence
    """Seconds without an acknowledgement after which Kafka counts as gone."""

    def output(self, changefeed: Changefeed, release: Release, messages: list[Message]) -> Output:
        """Return a changefeed's output, which appends to `messages`, too, unless it writes files to a storage.

        Raises UserError for fixtures of a storage and for a directory of something else, DeliveryError if Kafka or the
        storage does not answer.
        """
        if changefeed.storage is not None:
            if self.fixtures is not None:
                raise UserError("fixtures hold the messages of Kafka: a storage sink writes the files of its sink-uri")
            return StorageOutput(changefeed, release)
        if changefeed.scheme == BLACKHOLE:
            return Output(changefeed, messages=messages)
        if self.fixtures is not None:
            return FilesOutput(changefeed, self.fixtures, self.fixtures_format, messages)
        if self.sends:
            return KafkaOutput(changefeed, messages=messages, silence=self.kafka_timeout)
        return MemoryOutput(changefeed, messages)

    def of(self, name: str, namespace: str) -> Sinks:
        """Return those of one changefeed among several: each has a directory of fixtures of its own."""
        if namespace != "default":
            name = f"{namespace}.{name}"
        return self if self.fixtures is None else replace(self, fixtures=self.fixtures / name)


BLACKHOLE = "blackhole"
"""The scheme of a sink that drops everything."""


def require_allowed(changefeed: Changefeed, places: Collection[str]) -> None:
    """Raise ChangefeedError for a changefeed that writes files anywhere but in these directories or below these URIs."""
    allowed = [_place(each) for each in places]
    uris = [changefeed.codec.claim_check_storage_uri, changefeed.storage.uri if changefeed.storage else ""]
    for uri in filter(None, uris):
        if not any(f"{_place(uri)}/".startswith(f"{place}/") for place in allowed):
            text = (
                f"storage sink config invalid: {uri_without_secrets(uri)}: changefeeds of this server may not write there; "
                f"accepted: {', '.join(places) or 'none'} (--allow-storage)"
            )
            raise ChangefeedError(text, "CDC:ErrStorageSinkInvalidConfig")


def _place(uri: str) -> str:
    """Return a directory or URI in one form, without its parameters: links are followed, and `..` is gone. A path with a
    null byte is none, and stays as it is."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme in ("", "file", "local") and "\0" not in path:
        return str(Path(parts.netloc + path).resolve())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{posixpath.normpath('/' + unquote(parts.path))}".rstrip(
        "/"
    )
