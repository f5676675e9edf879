"""Where the tasks of a run reach its driver: on its own machine, with a secret that travels in the job.

One law: what does not begin with the secret comes from somebody else, and nothing of it is read.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

SECRET_BYTES = 32


@dataclass(frozen=True)
class Driver:
    """A socket of the driver."""

    host: str
    port: int
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES), repr=False)

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def knows(self, secret: bytes) -> bool:
        """Whether the sender is a task of this run; takes as long whatever was sent."""
        return hmac.compare_digest(secret, self.secret)
