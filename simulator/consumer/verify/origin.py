"""How a stream was made: what the truth says, what the user says, and what its own messages show.

One law: the user's word goes before the truth's, and where neither says it, the stream's; what nobody said is not
checked, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simulator import releases
from simulator.consumer.decode import RowEvent, decode, is_exact, protocol_of
from simulator.consumer.records import Record
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import NotChecked, Setting
from simulator.errors import UserError, mask_secrets, uri_without_secrets
from simulator.files import read_text
from simulator.releases import Release
from simulator.settings import DEFAULT_SINK_URI
from simulator.ticdc.changefeed import Changefeed, load
from simulator.ticdc.changefeed.sink_uri import parse_uri
from simulator.ticdc.codecs import CODECS

ENOUGH = 1000
"""Records that are looked at to recognise a protocol."""

UNKNOWN = "how the stream was made is not known: --sink-uri, with --config, or --truth tells"


@dataclass(frozen=True)
class StreamOrigin:
    """How a stream was made, as far as anybody knows."""

    protocol: str
    release: Release
    changefeed: Changefeed
    known: bool
    """Whether that is the stream's changefeed; else it stands for one that nobody described, and its dispatchers and
    sizes say nothing."""

    settings: tuple[Setting, ...]
    not_checked: tuple[NotChecked, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProtocolEvidence:
    """What the first messages of a stream show."""

    protocols: Counter[str]
    """How many of them look like messages of each; none for an empty stream."""

    exact: bool = True
    """Whether they have commit-ts, which canal-json without enable-tidb-extension has not."""

    stranger: str = ""
    """The first that looks like none: where it lies, and why."""

    @property
    def protocol(self) -> str:
        return self.protocols.most_common(1)[0][0] if self.protocols else ""


def inspect_records(records: Iterable[Record]) -> ProtocolEvidence:
    """What the first of those records show."""
    protocols: Counter[str] = Counter()
    exact, stranger = True, ""
    for record in records:
        try:
            protocol = protocol_of(record.key, record.value)
            protocols[protocol] += 1
            events = decode(record.key, record.value, protocol)
        except UserError as error:
            stranger = stranger or f"{record.topic}/{record.partition}@{record.offset} is {error}"
            continue
        exact = exact and all(is_exact(event) for event in events if isinstance(event, RowEvent))
        if protocols.total() >= ENOUGH:
            break
    return ProtocolEvidence(protocols, exact, stranger)


def resolve_origin(asked: VerifyOptions, truth: TruthMetadata | None, shows: ProtocolEvidence) -> StreamOrigin:
    """Raises UserError where release or protocol cannot be told, and where the stream contradicts what is said."""
    release, by_release = _release(asked, truth)
    uri, by_uri = _sink_uri(asked, truth)
    config = read_text(asked.config) if asked.config is not None else truth.config if truth is not None else ""
    if not uri and asked.config is not None:
        uri, by_uri = asked.source if asked.to_kafka and asked.source else DEFAULT_SINK_URI.split("?")[0], "--config"
    if uri:
        name = "changefeed.toml" if asked.config is None else str(asked.config)
        changefeed = load(uri, config, release, name)
        protocol = changefeed.codec.protocol
        _agree(asked, protocol, by_uri, shows)
    else:
        protocol, by_uri = _recognised(asked, shows), "the stream"
        changefeed = load(_uri_of(protocol, release, shows), "", release)
    settings = (
        Setting("protocol", protocol, by_uri),
        Setting("release", release.title, by_release),
        *([Setting("sink-uri", mask_secrets(uri), by_uri)] if uri else []),
        *(
            [
                Setting(
                    "changefeed.toml",
                    str(asked.config or "as in truth.json"),
                    "--config" if asked.config else "the truth",
                )
            ]
            if config
            else []
        ),
        Setting(
            "restarts",
            "rows may come again" if asked.restarts else "nothing may come again",
            "the default" if asked.restarts else "--no-restarts",
        ),
    )
    return StreamOrigin(protocol, release, changefeed, bool(uri), settings, tuple(_unknown(uri, by_release)))


def _release(asked: VerifyOptions, truth: TruthMetadata | None) -> tuple[Release, str]:
    if asked.release is not None:
        return releases.find(asked.release, asked.architecture), "--release"
    if truth is not None:
        told_by = "the truth" if asked.architecture is None else "--architecture"
        return releases.find(truth.release, asked.architecture or truth.architecture), told_by
    return releases.find(releases.DEFAULT, asked.architecture), "the default"


def _sink_uri(asked: VerifyOptions, truth: TruthMetadata | None) -> tuple[str, str]:
    """That of the option, of the truth, or of SOURCE where that is written as one."""
    if asked.sink_uri is not None:
        return asked.sink_uri, "--sink-uri"
    if truth is not None:
        return truth.sink_uri, "the truth"
    if asked.source and asked.to_kafka:
        written = parse_uri(asked.source, releases.find(releases.DEFAULT, None)).texts
        if "protocol" in written:
            return asked.source, "SOURCE"
    return "", ""


def _agree(asked: VerifyOptions, protocol: str, told_by: str, shows: ProtocolEvidence) -> None:
    """Raises UserError for a stream of another protocol."""
    if shows.protocols and not shows.protocols[protocol]:
        source = uri_without_secrets(asked.source or "")
        if told_by == "the truth":
            raise UserError(
                f"{asked.truth} is the truth of another run: that one wrote {protocol}, and the messages of {source} "
                f"are {shows.protocol}"
            )
        raise UserError(f"{told_by} says {protocol}, and the messages of {source} are {shows.protocol}")


def _recognised(asked: VerifyOptions, shows: ProtocolEvidence) -> str:
    """Raises UserError where no message tells the protocol."""
    if shows.protocols:
        return shows.protocol
    source, more = uri_without_secrets(asked.source or ""), "--sink-uri or --truth tells how it was made"
    if shows.stranger:
        raise UserError(f"the protocol of {source} cannot be told: {shows.stranger}; {more}")
    raise UserError(f"{source} has no records, which leaves its protocol open: {more}")


def _uri_of(protocol: str, release: Release, shows: ProtocolEvidence) -> str:
    """For a changefeed that nobody described."""
    extended = shows.exact and CODECS[protocol].protocol.tidb_extension(release)
    return f"{DEFAULT_SINK_URI.split('?')[0]}?protocol={protocol}{'&enable-tidb-extension=true' if extended else ''}"


def _unknown(uri: str, by_release: str) -> Iterator[NotChecked]:
    if not uri:
        yield NotChecked("the sizes of messages", UNKNOWN)
    if by_release == "the default":
        yield NotChecked("what releases do differently", f"taken to be {releases.DEFAULT}: --release or --truth tells")
