"""All names of kafka-python that are used, imported without its deprecation warnings.

No other module imports it, so that tests whose warnings are errors can import the simulator first.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # It reads its schemas by importlib.resources.read_text, which Python 3.11 and 3.12 call deprecated
    # (kafka-python 3.0.12: kafka/protocol/schemas/load_json.py).
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
    from kafka.errors import (
        AuthorizationError,
        BrokerResponseError,
        IllegalSaslStateError,
        IllegalStateError,
        InvalidPartitionsError,
        InvalidRecordError,
        InvalidTimestampError,
        InvalidTopicError,
        KafkaConnectionError,
        KafkaError,
        MessageSizeTooLargeError,
        NodeNotReadyError,
        NoError,
        RecordListTooLargeError,
        SaslAuthenticationFailedError,
        TopicAlreadyExistsError,
        UnknownError,
        UnknownTopicOrPartitionError,
        UnsupportedCompressionTypeError,
        for_code,
    )
    from kafka.future import Future
    from kafka.net.compat import KafkaNetClient
    from kafka.net.sasl import get_sasl_mechanism
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.producer.producer_batch import ProducerBatch
    from kafka.protocol.broker_version_data import BrokerVersionData
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
    from kafka.protocol.parser import KafkaProtocol
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
    from kafka.record.memory_records import MemoryRecordsBuilder
    from kafka.structs import TopicPartition
