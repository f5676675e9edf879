"""Keys that say how to reach and use Kafka, in the sink-uri and in `[sink.kafka-config]`.

One law: the file's have no default of their own, so that what nobody said is the sink-uri's default.
"""

from __future__ import annotations

from simulator.ticdc.changefeed.key import Key, rows

SASL = {
    **rows("text", "sasl-user sasl-password sasl-mechanism sasl-gssapi-auth-type sasl-gssapi-keytab-path"),
    **rows("text", "sasl-gssapi-kerberos-config-path sasl-gssapi-service-name sasl-gssapi-user"),
    **rows("text", "sasl-gssapi-password sasl-gssapi-realm"),
    **rows("bool", "sasl-gssapi-disable-pafxfast"),
}
KAFKA = {
    "partition-num": Key("int32", 3),
    "replication-factor": Key("int16", 1),
    "kafka-version": Key("text", "2.4.0", "the client asks the broker itself"),
    "max-message-bytes": Key("int", 10485760),
    "compression": Key("text", "none"),
    "kafka-client-id": Key("text", "TiCDC_producer_<addr>_<namespace>_<changefeed>"),
    "auto-create-topic": Key("bool", True),
    **rows("text", "dial-timeout write-timeout read-timeout", default="10s"),
    "required-acks": Key("int", -1),
    **SASL,
    "enable-tls": Key("bool"),
    **rows("text", "ca cert key"),
    "insecure-skip-verify": Key("bool", False),
}
OAUTH = {
    **rows("text", "sasl-oauth-client-id sasl-oauth-client-secret sasl-oauth-token-url"),
    **rows("text", "sasl-oauth-grant-type sasl-oauth-audience"),
    "sasl-oauth-scopes": Key("texts"),
}
KAFKA_FILE = {
    **{name: Key(key.kind, None, key.idle) for name, key in KAFKA.items()},
    **OAUTH,
    "output-raw-change-event": Key("bool", False),
}
