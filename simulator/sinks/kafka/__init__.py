"""The Kafka sink, and readers of topics."""
