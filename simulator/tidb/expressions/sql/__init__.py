"""MySQL values as DuckDB SQL: the graph of an expression, its problems, its evaluation."""
