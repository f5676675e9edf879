"""The engine on Spark: its session, its errors, and the plan that compares and sends."""
