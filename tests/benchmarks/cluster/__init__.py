"""A Spark cluster and a Kafka of three brokers that lose machines while commands run on them.

    PYTHONPATH=tests:tests/benchmarks python -m cluster --seed 1 --runs 30 --command load --kill worker

`streams.py` makes what the commands send and read, `machines.py` starts all servers, `faults.py` harms them, `runs.py`
runs a command to its end in spite of that, `support/cut_short.py` counts what Kafka has beside what it should have, and
`results.py` keeps and shows what came out.
"""
