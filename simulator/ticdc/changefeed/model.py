"""The content of a sink-uri and a changefeed.toml as frozen values: valid, with defaults, merged."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.errors import ChangefeedError
from simulator.ticdc.codecs.codec_options import CodecOptions


@dataclass(frozen=True)
class DispatchRule:
    """One entry of `[sink] dispatchers`, as written."""

    matcher: tuple[str, ...]
    """Table-filter rules; matched case-insensitively unless `case-sensitive`."""

    partition: str = ""
    """Dispatcher in TiCDC's spelling; empty means `default`."""

    index: str = ""
    columns: tuple[str, ...] = ()
    topic: str = ""
    """Topic name or expression; empty means the default topic."""

    target_schema: str = ""
    """The schema in messages: literal text, `{schema}` and `{table}`; empty keeps the table's own."""

    target_table: str = ""


@dataclass(frozen=True)
class ColumnSelector:
    """One entry of `[sink] column-selectors`, as written."""

    matcher: tuple[str, ...] = ()
    """Table-filter rules; matched case-insensitively unless `case-sensitive`."""

    columns: tuple[str, ...] = ()
    """Column-filter rules, in any letter case; the last that matches decides."""


@dataclass(frozen=True)
class EventFilter:
    """One entry of `[[filter.event-filters]]`, as written."""

    matcher: tuple[str, ...] = ()
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    ignore_insert_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_delete_value_expr: str = ""

    @property
    def expressions(self) -> tuple[str, ...]:
        """All SQL expressions of the entry, in the order in which TiCDC evaluates them."""
        expressions = (
            self.ignore_insert_value_expr,
            self.ignore_update_old_value_expr,
            self.ignore_update_new_value_expr,
            self.ignore_delete_value_expr,
        )
        return tuple(filter(None, expressions))


@dataclass(frozen=True)
class Sasl:
    """SASL settings; an empty `mechanism` means that SASL is off."""

    mechanism: str = ""
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER."""

    user: str = ""
    password: str = field(default="", repr=False)
    gssapi_service_name: str = ""
    oauth_client_id: str = ""
    oauth_client_secret: str = field(default="", repr=False)
    """Decoded from the base64 of the file."""

    oauth_token_url: str = ""
    oauth_scopes: tuple[str, ...] = ()
    oauth_grant_type: str = "client_credentials"
    oauth_audience: str = ""


@dataclass(frozen=True)
class Tls:
    """TLS settings; without files the operating system's certificates are trusted."""

    enabled: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    insecure_skip_verify: bool = False
    asked_by: str = ""
    """The settings that request TLS although it is off and enable-tls=false is not written."""


@dataclass(frozen=True)
class Kafka:
    """Kafka's address and the settings of its client."""

    brokers: tuple[str, ...]
    """`host:port` of each broker."""

    partition_num: int | None = None
    """The configured number. None uses all partitions of the topic, or creates it with `new_topic_partitions`."""

    replication_factor: int = 1
    auto_create_topic: bool = True
    required_acks: int = -1
    compression: str = "none"
    """none, gzip, snappy, lz4 or zstd."""

    client_id: str = "TiCDC_producer_127.0.0.1_8300_default_ticdc-sim"
    dial_timeout: float = 10.0
    """Seconds, as the other timeouts."""

    write_timeout: float = 10.0
    read_timeout: float = 10.0
    sasl: Sasl = Sasl()
    tls: Tls = Tls()
    new_topic_partitions: int = 3
    """Partitions of a topic that TiCDC creates without `partition-num`."""

    partition_num_limits: bool = True
    """Whether a default topic with more partitions than `partition-num` is used up to that number."""

    topic_limit: str = "lowers"
    """What happens if a topic accepts less than max-message-bytes, as in `Codec.topic_limit`."""

    topic_limit_margin: int = 128
    """How many bytes max-message-bytes stays below the topic's limit."""

    checks_insync_replicas: str = "all"
    """For which topics a replication-factor below min.insync.replicas is refused: `all`, `created` or `none`."""

    one_error_code: bool = False
    """Whether TiCDC has one code for all invalid Kafka settings, and one for all refusals by brokers."""

    @property
    def partitions(self) -> int:
        """Partitions of a topic that does not exist yet."""
        return self.partition_num or self.new_topic_partitions

    def partition_count(self, number: int | None, actual: int, topic: str = "") -> int:
        """Return how many partitions to use of a topic that has `actual`: the first `number`, or all.

        Raise ChangefeedError if there are fewer than `number` (`SetPartitionNum`, tiflow v8.5.3
        pkg/sink/kafka/options.go).
        """
        if number is not None and number > actual:
            text = (
                f"the number of partition ({number}) specified in sink-uri is more than that of actual topic ({actual})"
            )
            code = "CDC:ErrKafkaInvalidConfig" if self.one_error_code else "CDC:ErrKafkaInvalidPartitionNum"
            raise ChangefeedError(text + (f": {topic}" if topic else ""), code)
        return (number or actual) if self.partition_num_limits else actual


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


@dataclass(frozen=True)
class Changefeed:
    """A changefeed that TiCDC accepts and the simulator supports."""

    scheme: str
    """`kafka`, `kafka+ssl`, or that of a storage: `file`, `s3`, …"""

    topic: str
    """The default topic; a storage has one topic, whose partitions are the sink's workers."""

    codec: CodecOptions
    kafka: Kafka
    case_sensitive: bool = False
    force_replicate: bool = False
    active_active: bool = False
    """`enable-active-active`: tables have ACTIVE_ACTIVE, and rows are sent as they are stored."""

    rules: tuple[str, ...] = ("*.*",)
    """`[filter] rules`."""

    ignore_txn_start_ts: tuple[int, ...] = ()
    event_filters: tuple[EventFilter, ...] = ()
    sql_mode: frozenset[str] = frozenset()
    """The modes of `sql-mode`, in releases that read DDL by it."""

    dispatchers: tuple[DispatchRule, ...] = ()
    column_selectors: tuple[ColumnSelector, ...] = ()
    output_raw_change_event: bool = False
    """Whether an UPDATE of a key stays one event (`[sink.kafka-config] output-raw-change-event`)."""

    warnings: tuple[str, ...] = ()
    """One line each: unknown keys, keys without effect, conflicts between URI and file."""

    storage: Storage | None = None
    """The settings of a storage sink; None for Kafka."""

    sink_uri: str = field(default="", compare=False, repr=False)
    """The sink-uri as written; `config` is the text of the file."""

    config: str = field(default="", compare=False, repr=False)

    def checkpoint_interval_ms(self, resolved_interval_ms: int) -> int:
        """Return the simulated time between checkpoints: those of a storage wait for its files."""
        return max(resolved_interval_ms, self.storage.flush_interval_ms) if self.storage else resolved_interval_ms
