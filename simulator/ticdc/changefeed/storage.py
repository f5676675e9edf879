"""The settings of a storage sink, checked as TiCDC checks them.

Sources: tiflow v8.0.0: pkg/config/sink.go validateAndAdjust, pkg/sink/cloudstorage/config.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.errors import ChangefeedError
from simulator.ticdc.changefeed import toml_file
from simulator.ticdc.changefeed.keys import DATABASE, STORAGE, STORAGE_SCHEMES
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings
from simulator.ticdc.codecs.codec_options import CsvOptions

TOPIC = "storage"
"""The one topic of a storage; its partitions are the sink's workers."""

CSV, CLOUD = "sink.csv", "sink.cloud-storage-config"
SIMULATED = ("file", "s3", "gcs", "azure")
"""The schemes of storages that are simulated; gs and azblob are other names."""

INVALID = "CDC:ErrStorageSinkInvalidConfig"
SEPARATORS = ("none", "year", "month", "day")
MAX_WORKERS = 512
MOST_FLUSH_MS, MOST_FILE_SIZE = 600_000, 512 << 20
INDEX_WIDTHS = (6, 20)


@dataclass(frozen=True)
class Storage:
    """The settings of a storage sink."""

    uri: str = field(repr=False)
    """The sink-uri as written."""

    worker_count: int = 16
    flush_interval_ms: int = 5000
    """Simulated time between the flushes of all files, and so between checkpoints."""

    file_size: int = 64 << 20
    """The bytes from which on a file is flushed at once."""

    date_separator: str = "day"
    """`none`, `year`, `month` or `day`."""

    enable_partition_separator: bool = True
    file_index_width: int = 20
    output_column_id: bool = False
    dispatcher_names: bool = False
    """Whether the names of files have the dispatcher of their rows."""

    use_table_id_as_path: bool = False
    """Whether directories have the ids of tables and partitions instead of names."""


def is_storage(settings: ChangefeedSettings) -> bool:
    """Return whether the sink-uri is that of a storage."""
    return settings.uri.scheme in STORAGE_SCHEMES


def storage(settings: ChangefeedSettings) -> Storage:
    """Return the settings of the sink; raise ChangefeedError for those that TiCDC rejects."""
    _require_sink(settings)
    if settings.uri.scheme == "noop":
        raise ChangefeedError(f"the scheme noop is not simulated: it writes nothing; accepted: {', '.join(SIMULATED)}")
    workers = settings.number("worker-count", Storage.worker_count)
    if workers <= 0:
        raise invalid(f"invalid worker-count {workers}, it must be greater than 0", settings)
    interval = settings.text("flush-interval")
    try:
        seconds = toml_file.parse_duration(interval) if interval else Storage.flush_interval_ms / 1000
    except ValueError as error:
        raise invalid(str(error), settings) from error
    _check_spool(settings)
    size, release = settings.get("file-size"), settings.release
    least_flush_ms, least_file_size = release.storage_minimums
    has_width = release.has("sink.file-index-digit")
    width = settings.file_value("sink", "file-index-digit") if has_width else INDEX_WIDTHS[0]
    return Storage(
        settings.uri.text,
        min(workers, MAX_WORKERS),
        _within(int(seconds * 1000), (least_flush_ms, MOST_FLUSH_MS)),
        Storage.file_size if size is None else _within(int(str(size)), (least_file_size, MOST_FILE_SIZE)),
        str(settings.file_value("sink", "date-separator") or "none"),
        bool(settings.file_value("sink", "enable-partition-separator")),
        width if isinstance(width, int) and INDEX_WIDTHS[0] <= width <= INDEX_WIDTHS[1] else INDEX_WIDTHS[1],
        bool(settings.file_value(CLOUD, "output-column-id")),
        release.storage_dispatcher_names and bool(settings.file_value("scheduler", "enable-table-across-nodes")),
        settings.boolean("use-table-id-as-path"),
    )


def _require_sink(settings: ChangefeedSettings) -> None:
    """Raise ChangefeedError if the release writes no files to such a sink-uri, or others than are simulated."""
    release, scheme = settings.release, settings.uri.scheme
    if release.storage_sink == "experiment":
        raise ChangefeedError(
            f"the storage sink of TiCDC {release.name}, an experiment, is not simulated; accepted: v6.5.0 and later"
        )
    if release.storage_sink == "cdclog" and scheme == "s3":
        raise ChangefeedError(f"cdclog, which TiCDC {release.name} writes to s3, is not simulated")
    if release.storage_sink != "files":
        raise ChangefeedError(f"the sink scheme ({scheme}) is not supported", "CDC:ErrSinkURIInvalid")


def _check_spool(settings: ChangefeedSettings) -> None:
    quota, directory = settings.get("spool-disk-quota"), settings.text("spool-base-dir")
    if isinstance(quota, int) and quota <= 0:
        raise invalid(f"invalid spool-disk-quota {quota}, it must be greater than 0", settings)
    if directory and not directory.startswith("/"):
        raise invalid(f'invalid spool-base-dir "{directory}", it must be an absolute path', settings)


LONG_DELIMITERS = {
    1: "one character",
    3: "three characters, note that escape sequences can only be used in double quotes in toml configuration items.",
}
"""What TiCDC says to a delimiter of more bytes."""


def check(settings: ChangefeedSettings) -> None:
    """Raise ChangefeedError for settings of the file that TiCDC rejects with a storage sink."""
    separator = settings.file_value("sink", "date-separator")
    if separator and str(separator).lower() not in SEPARATORS:
        accepted = f"accepted: {', '.join(SEPARATORS)}"
        raise sink_error(f"date separator in {_noun(settings)} sink is invalid: {separator}; {accepted}")
    options = csv_options(settings)
    if len(options.quote.encode()) > 1:
        raise _csv("quote contains more than one character")
    if options.quote in ("\r", "\n"):
        raise _csv("quote cannot be line break character")
    if not options.delimiter:
        raise _csv("delimiter cannot be empty")
    most = settings.release.csv_delimiter_bytes
    if most and len(options.delimiter.encode()) > most:
        raise _csv(f"delimiter contains more than {LONG_DELIMITERS[most]}")
    if "\r" in options.delimiter or "\n" in options.delimiter:
        raise _csv("delimiter contains line break characters")
    if options.quote and options.quote in options.delimiter:
        fault = "has common characters which is not allowed" if most > 1 else "cannot be the same"
        raise _csv(f"quote and delimiter {fault}")
    if options.binary_encoding_method not in ("hex", "base64"):
        raise _csv("binary-encoding-method can only be hex or base64")


def csv_options(settings: ChangefeedSettings) -> CsvOptions:
    """Return `[sink.csv]`."""

    def text(name: str) -> str:
        return str(settings.file_value(CSV, name))

    def flag(name: str) -> bool:
        return bool(settings.file_value(CSV, name))

    return CsvOptions(
        text("delimiter"),
        text("quote"),
        text("null"),
        flag("include-commit-ts"),
        text("binary-encoding-method"),
        flag("output-old-value"),
        settings.release.csv_handle_key and flag("output-handle-key"),
        flag("output-field-header"),
    )


def terminator(settings: ChangefeedSettings) -> str:
    """Return the end of a row."""
    written = settings.file.values.get(("sink", "terminator"))
    is_none = written is None or written == "" and not settings.release.storage_empty_terminator
    return "\r\n" if is_none else str(written)


def warnings(settings: ChangefeedSettings, storage: Storage) -> Iterator[str]:
    """Yield the warnings of the file without those of other sinks, and one for each setting that TiCDC changes."""
    needs_bdr = settings.file_value("(top level)", "enable-active-active")
    effective = (STORAGE, f"bdr-mode has no effect: {DATABASE}") if needs_bdr else (STORAGE,)
    yield from (remark for remark in settings.file.warnings if not remark.endswith(effective))
    size, workers = settings.get("file-size"), settings.get("worker-count")
    if isinstance(size, int) and size != storage.file_size:
        least = settings.release.storage_minimums[1]
        yield f"file-size {size} becomes {storage.file_size}: TiCDC takes {least} to {MOST_FILE_SIZE}"
    if isinstance(workers, int) and workers > MAX_WORKERS:
        yield f"worker-count {workers} becomes {MAX_WORKERS}"
    interval = settings.text("flush-interval")
    if interval and int(toml_file.parse_duration(interval) * 1000) != storage.flush_interval_ms:
        least_ms = settings.release.storage_minimums[0]
        least_text = f"{least_ms // 1000}s" if least_ms >= 1000 else f"{least_ms}ms"
        taken = f"{storage.flush_interval_ms / 1000:g}s"
        yield f"flush-interval {interval} becomes {taken}: TiCDC takes {least_text} to 10m"


def _within(number: int, limits: tuple[int, int]) -> int:
    return max(limits[0], min(number, limits[1]))


def invalid(text: str, settings: ChangefeedSettings) -> ChangefeedError:
    """Return the error of a setting; earlier releases speak of cloud storage (pkg/errors/cdc_errors.go)."""
    if settings.release.storage_old_errors:
        return ChangefeedError(f"cloud storage config invalid: {text}", "CDC:ErrCloudStorageInvalidConfig")
    return ChangefeedError(f"storage sink config invalid: {text}", INVALID)


def _noun(settings: ChangefeedSettings) -> str:
    return "cloud storage" if settings.release.storage_old_errors else "storage"


def _csv(text: str) -> ChangefeedError:
    return sink_error(f"csv config {text}")


def sink_error(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrSinkInvalidConfig")
