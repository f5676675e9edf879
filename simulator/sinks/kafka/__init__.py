"""Records to Kafka."""
