"""What brings the halves of each row together: this process, or Spark.

One law: both know halves alone, and give the same findings.
"""
