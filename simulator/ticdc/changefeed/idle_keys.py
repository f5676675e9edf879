"""Tables of a changefeed.toml that concern other sinks or TiCDC's insides: known, checked and without effect.

One law: every key here says why it has none. Source: pkg/config/*.go (toml tags) of all releases.
"""

from __future__ import annotations

from simulator.ticdc.changefeed.key import AVRO, CHECKSUM, CYCLIC, DATABASE, INSIDE, Key, PULSAR, STORAGE, rows

PULSAR_FILE = {
    **rows("text", "tls-key-file-path tls-certificate-file tls-trust-certs-file-path pulsar-version", PULSAR),
    **rows("text", "compression-type authentication-token token-from-file basic-user-name basic-password", PULSAR),
    **rows("text", "auth-tls-certificate-path auth-tls-private-key-path", PULSAR),
    **rows("int", "pulsar-producer-cache-size connection-timeout operation-timeout batching-max-messages", PULSAR),
    **rows("int", "batching-max-publish-delay send-timeout", PULSAR),
    "output-raw-change-event": Key("bool", None, PULSAR),
}
MYSQL_FILE = {
    **rows("int", "worker-count max-txn-row max-multi-update-row-size max-multi-update-row", DATABASE),
    **rows("text", "tidb-txn-mode ssl-ca ssl-cert ssl-key time-zone write-timeout read-timeout timeout", DATABASE),
    **rows("bool", "enable-batch-dml enable-multi-statement enable-cache-prepared-statement", DATABASE),
}
STORAGE_FILE = {
    **rows("int", "worker-count file-size file-expiration-days flush-concurrency", STORAGE),
    **rows("text", "flush-interval file-cleanup-cron-spec", STORAGE),
    **rows("bool", "output-column-id output-raw-change-event use-table-id-as-path", STORAGE),
}
CONSISTENT = {
    **rows("text", "level storage compression", DATABASE),
    **rows("int", "max-log-size flush-interval meta-flush-interval encoding-worker-num", DATABASE),
    **rows("int", "flush-worker-num flush-concurrency", DATABASE),
    "use-file-backend": Key("bool", False, DATABASE),
}
SCHEDULER = {
    "enable-table-across-nodes": Key("bool", False, INSIDE),
    **rows("int", "region-threshold write-key-threshold region-per-span region-count-per-span", INSIDE),
    **rows("int", "scheduling-task-count-per-node polling-time", INSIDE),
    "type": Key("text", None, INSIDE),
}
CSV = {
    **rows("text", "delimiter quote null binary-encoding-method", STORAGE),
    **rows("bool", "include-commit-ts output-old-value output-handle-key output-field-header", STORAGE),
}
CYCLIC_REPLICATION = {
    **rows("bool", "enable sync-ddl", CYCLIC),
    **rows("int", "replica-id id-buckets", CYCLIC),
    "filter-replica-ids": Key("ints", None, CYCLIC),
}
GLUE = rows("text", "registry-name region access-key secret-access-key token", AVRO)
PULSAR_OAUTH = rows(
    "text", "oauth2-issuer-url oauth2-audience oauth2-private-key oauth2-client-id oauth2-scope", PULSAR
)
INTEGRITY = {
    "integrity-check-level": Key("text", "none", CHECKSUM),
    "corruption-handle-level": Key("text", "warn", CHECKSUM),
}
