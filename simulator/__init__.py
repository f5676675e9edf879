"""A producer-side simulator of TiCDC: its messages on Kafka, byte for byte, without a TiDB cluster."""

__version__ = "0.1.0"
