"""A real Apache Kafka broker of one node, for experiments."""
