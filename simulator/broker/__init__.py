"""A real Apache Kafka of one node, for trying things out."""
