"""Engines that bring the image pairs of each row together: this process, or Spark."""
