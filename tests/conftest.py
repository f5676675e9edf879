"""What every test may ask for: a Spark session, a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from simulator import spark as spark_door


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests."""
    session = spark_door.session("local[2]")
    yield session
    session.stop()
