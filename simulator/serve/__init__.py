"""A MySQL server in front of the simulated TiDB: what clients commit becomes TiCDC's messages."""
