"""Execution of DDL statements: the jobs that TiDB queues, and the catalog after them.

Functions called `check_…` raise DdlError with TiDB's text; those that return SubJobs may, too.
"""
