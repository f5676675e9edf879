"""Engines that bring the image pairs of each row together: this process, or Spark."""

from __future__ import annotations
