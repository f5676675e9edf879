"""How a stream was made: release, protocol and changefeed, from the options, the truth and the messages.

Options take precedence over the truth, and the truth over the messages. What remains unknown is listed as not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from simulator import releases
from simulator.errors import UserError, mask_secrets, uri_without_secrets
from simulator.files import read_text
from simulator.reader.decode import DECODERS, RowEvent, Watermark, decode, is_exact, protocol_of
from simulator.reader.records import source_schemas
from simulator.reader.storage import DataFile
from simulator.reader.storage.directory import StorageDirectory
from simulator.reader.truth_metadata import TruthMetadata
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import UNKNOWN, AssumedSetting, NotChecked
from simulator.releases import Release
from simulator.settings import DEFAULT_SINK_URI
from simulator.sinks.records import Record
from simulator.ticdc.changefeed import Changefeed, load
from simulator.ticdc.changefeed.sink_uri import parse_uri
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.csv import CSV

ENOUGH = 1000
"""Records that are examined to recognise the protocol."""

THE_DEFAULT = "the default"


@dataclass(frozen=True)
class StreamOrigin:
    protocol: str
    release: Release
    changefeed: Changefeed
    known: bool
    """Whether this is the changefeed of the stream. Otherwise it is a placeholder, whose dispatchers and sizes have no
    meaning."""

    settings: tuple[AssumedSetting, ...]
    not_checked: tuple[NotChecked, ...] = ()
    notes: tuple[str, ...] = ()
    watermarked: bool = False
    """Whether the first messages have watermarks."""

    release_known: bool = True
    """Whether this is the release of the stream. Otherwise it is assumed."""

    filters_known: bool = True
    """Whether the changefeed has these event filters, and no others."""


@dataclass(frozen=True)
class ProtocolEvidence:
    """Properties of the first messages of a stream."""

    protocols: Counter[str]
    """Number of messages by recognised protocol; empty for an empty stream."""

    exact: bool = True
    """Whether messages have a commit-ts; canal-json without enable-tidb-extension does not."""

    watermarked: bool = False
    """Whether there are watermarks."""

    unrecognised: str = ""
    """Location of the first message of no known protocol, and the reason."""

    @property
    def protocol(self) -> str:
        return self.protocols.most_common(1)[0][0] if self.protocols else ""


@dataclass(frozen=True)
class Configuration:
    """What is known of a changefeed's configuration."""

    uri: str
    """The sink URI; empty if it is not known."""

    uri_source: str
    """Where it comes from."""

    text: str
    """That of changefeed.toml; empty if there is none, or it is not known."""

    path: str = "changefeed.toml"

    @property
    def is_known(self) -> bool:
        return bool(self.uri or self.text)

    def load(self, release: Release, time_zone: str = "", assumed: str = DEFAULT_SINK_URI) -> Changefeed:
        """Return the changefeed, with the `assumed` URI if none is known."""
        return load(self.uri or None, self.text, release, self.path, assumed, time_zone)


def inspect_records(records: Iterable[Record], schemas: Mapping[int, str] = MappingProxyType({})) -> ProtocolEvidence:
    """Return the properties of the first of these records; `schemas` are those of a registry."""
    protocols: Counter[str] = Counter()
    exact, watermarked, unrecognised = True, False, ""
    for record in records:
        try:
            protocol = protocol_of(record.key, record.value)
            protocols[protocol] += 1
            events = decode(record.key, record.value, protocol, schemas)
        except UserError as error:
            unrecognised = unrecognised or f"{record.topic}/{record.partition}@{record.offset} is {error}"
            continue
        timed = (event for event in events if isinstance(event, RowEvent) and not _never_timed(event, protocol))
        exact = exact and all(map(is_exact, timed))
        watermarked = watermarked or any(isinstance(event, Watermark) for event in events)
        if protocols.total() >= ENOUGH:
            break
    return ProtocolEvidence(protocols, exact, watermarked, unrecognised)


def _never_timed(event: RowEvent, protocol: str) -> bool:
    """Return whether the message of such a change has no commit-ts, whatever the options are."""
    return DECODERS[protocol].sequential and event.op == "DELETE"


def resolve_origin(options: VerifyOptions, truth: TruthMetadata | None, evidence: ProtocolEvidence) -> StreamOrigin:
    """Return how the stream was made; raises UserError if release or protocol are unknown, or contradict the stream."""
    release, release_source = _release(options, truth)
    configuration = _configuration(options, truth)
    uri, uri_source = configuration.uri, configuration.uri_source
    zone = _time_zone(options, truth)
    if configuration.is_known:
        changefeed = configuration.load(release, zone, _assumed_uri(options, evidence))
        protocol, uri, uri_source = changefeed.codec.protocol, changefeed.sink_uri, uri_source or "--config"
        _check_protocol(options, protocol, uri_source, evidence)
    else:
        protocol, uri_source = _recognised_protocol(options, evidence), "the stream"
        if not CODECS[protocol].protocol.exists(release):
            raise UserError(
                f"the messages are {protocol}, which TiCDC {release.title} ({release_source}) does not have: --release or "
                "--truth tells how they were made"
            )
        changefeed = load(_placeholder_uri(protocol, release, evidence), "", release, time_zone=zone)
    if not CODECS[protocol].fidelity(changefeed.codec, release).databases:
        raise UserError(
            f"verify does not read {protocol} of TiCDC {release.name}: its messages do not say in which database a table "
            "is"
        )
    restarts = "rows may come again" if options.restarts else "nothing may come again"
    settings = [
        AssumedSetting("protocol", protocol, uri_source),
        AssumedSetting("release", release.title, release_source),
    ]
    if uri:
        settings.append(AssumedSetting("sink-uri", mask_secrets(uri), uri_source))
    if configuration.text:
        config_source = "--config" if options.config else "the truth"
        settings.append(AssumedSetting("changefeed.toml", str(options.config or "as in truth.json"), config_source))
    if zone:
        settings.append(AssumedSetting("tz", zone, "the truth" if options.tz is None else "--tz"))
    settings.append(AssumedSetting("restarts", restarts, "the default" if options.restarts else "--no-restarts"))
    return StreamOrigin(
        protocol,
        release,
        changefeed,
        bool(uri) and (uri_source != "--config" or options.to_kafka),
        tuple(settings),
        tuple(_not_checked(uri, release_source)),
        watermarked=evidence.watermarked,
        release_known=release_source != THE_DEFAULT,
        filters_known=bool(uri or configuration.text),
    )


def stream_schemas(options: VerifyOptions, truth: TruthMetadata | None) -> Mapping[int, str]:
    """Return the schemas that messages may name, by id: those of the changefeed's registry, or those beside fixtures."""
    if not options.to_kafka or options.schema_registry is not None:
        return source_schemas(options.source or "", options.schema_registry)
    configuration = _configuration(options, truth)
    registry = ""
    if configuration.is_known:
        registry = configuration.load(_release(options, truth)[0]).codec.schema_registry
    return source_schemas(options.source or "", registry or None)


def _configuration(options: VerifyOptions, truth: TruthMetadata | None) -> Configuration:
    if options.config is None:
        return Configuration(*_sink_uri(options, truth), "" if truth is None else truth.config)
    text = read_text(options.config)
    return Configuration(*_sink_uri(options, truth), text, str(options.config))


def _time_zone(options: VerifyOptions, truth: TruthMetadata | None) -> str:
    """Return the time zone of TiCDC's servers, by the option, else the truth; empty for UTC."""
    return options.tz if options.tz is not None else truth.time_zone if truth is not None else ""


def _assumed_uri(options: VerifyOptions, evidence: ProtocolEvidence) -> str:
    """Return the sink URI of a changefeed of which only the file is known: SOURCE, and the protocol of the messages."""
    place = options.source if options.to_kafka and options.source else DEFAULT_SINK_URI.split("?")[0]
    return f"{place}{'&' if '?' in place else '?'}protocol={evidence.protocol}" if evidence.protocol else place


def storage_origin(options: VerifyOptions, truth: TruthMetadata | None, directory: StorageDirectory) -> StreamOrigin:
    """Return how the files of a storage were made. Raises UserError if nothing tells the time of rows."""
    of_extension = {codec.file_extension: name for name, codec in CODECS.items() if codec.file_extension}
    files = (file for file in directory.files if isinstance(file, DataFile))
    evidence = ProtocolEvidence(Counter(of_extension[file.extension] for file in files))
    protocol = evidence.protocol or CSV.protocol.name
    told = truth is not None or options.sink_uri is not None or options.config is not None
    if truth is None and options.sink_uri is None:
        options = replace(options, sink_uri=directory.uri_with(protocol))
    origin = resolve_origin(options, truth, evidence)
    if origin.changefeed.storage is None:
        source = "--sink-uri" if options.sink_uri is not None else "the truth"
        raise UserError(
            f"{directory.listing.storage.shown} has the files of a storage, and {source} is of a Kafka "
            f"({mask_secrets(origin.changefeed.sink_uri)}): expected is file:///…, s3://…, gcs://… or azure://…"
        )
    if (
        origin.protocol == CSV.protocol.name
        and evidence.protocols
        and not origin.changefeed.codec.csv.include_commit_ts
    ):
        raise UserError(
            f"verify needs the commit-ts of rows, which {directory.listing.storage.shown} does not have: include-commit-ts of "
            "[sink.csv] must be true, and --config FILE or --truth DIR must say so"
        )
    return replace(origin, filters_known=told)


def _release(options: VerifyOptions, truth: TruthMetadata | None) -> tuple[Release, str]:
    if options.release is not None:
        return releases.find(options.release, options.architecture), "--release"
    if truth is not None:
        source = "the truth" if options.architecture is None else "--architecture"
        return releases.find(truth.release, options.architecture or truth.architecture), source
    return releases.find(releases.DEFAULT, options.architecture), THE_DEFAULT


def _sink_uri(options: VerifyOptions, truth: TruthMetadata | None) -> tuple[str, str]:
    """Return the sink URI of the option, the truth or a SOURCE that has one, and where it comes from."""
    if options.sink_uri is not None:
        return options.sink_uri, "--sink-uri"
    if truth is not None:
        return truth.sink_uri, "the truth"
    if options.source and options.to_kafka:
        written = parse_uri(options.source, releases.find(releases.DEFAULT, None)).texts
        if "protocol" in written:
            return options.source, "SOURCE"
    return "", ""


def _check_protocol(options: VerifyOptions, protocol: str, protocol_source: str, evidence: ProtocolEvidence) -> None:
    """Raise UserError if the stream has another protocol."""
    if evidence.protocols and not evidence.protocols[protocol]:
        source = uri_without_secrets(options.source or "")
        if protocol_source == "the truth":
            raise UserError(
                f"{options.truth} is the truth of another run: that one wrote {protocol}, and the messages of {source} "
                f"are {evidence.protocol}"
            )
        raise UserError(f"{protocol_source} says {protocol}, and the messages of {source} are {evidence.protocol}")


def _recognised_protocol(options: VerifyOptions, evidence: ProtocolEvidence) -> str:
    """Return the protocol of the messages; raises UserError if there are none."""
    if evidence.protocols:
        return evidence.protocol
    source, more = uri_without_secrets(options.source or ""), "--sink-uri or --truth tells how it was made"
    if evidence.unrecognised:
        raise UserError(f"the protocol of {source} cannot be told: {evidence.unrecognised}; {more}")
    raise UserError(f"{source} has no records, which leaves its protocol open: {more}")


def _placeholder_uri(protocol: str, release: Release, evidence: ProtocolEvidence) -> str:
    """Return a sink URI for an unknown changefeed."""
    codec = CODECS[protocol]
    extended = evidence.exact and codec.protocol.tidb_extension(release)
    options = (
        "&enable-tidb-extension=true" * extended,
        "&schema-registry=http://127.0.0.1:8081" * codec.needs_registry,
        "&avro-enable-watermark=true" * (codec.needs_registry and evidence.watermarked),
    )
    return f"{DEFAULT_SINK_URI.split('?')[0]}?protocol={protocol}{''.join(options)}"


def _not_checked(uri: str, release_source: str) -> Iterator[NotChecked]:
    if not uri:
        yield NotChecked("the sizes of messages", UNKNOWN, False)
    if release_source == THE_DEFAULT:
        why = f"taken to be {releases.DEFAULT}: --release or --truth tells"
        yield NotChecked("what releases do differently", why, False)
