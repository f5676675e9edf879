"""The consumer's side: reads a recorded stream, checks it, and replays it."""

from __future__ import annotations
