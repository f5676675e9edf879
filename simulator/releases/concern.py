"""Which changefeeds a behaviour of a release concerns, and what is known of a changefeed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Concern:
    """The changefeeds that a behaviour concerns: those that fit every member. An empty member fits all."""

    protocols: tuple[str, ...] = ()
    """By TiCDC's latest names."""

    sink: str = ""
    """`kafka` or `storage`."""

    settings: tuple[str, ...] = ()
    """The changefeed has one of them: `enable-old-value`, or with its table `dispatchers.topic`."""

    default_of: str = ""
    """The setting that the changefeed leaves to the release."""

    members: str = ""
    """Which members of a set concern a changefeed: its `settings`, or its `protocol`; empty for all."""


@dataclass(frozen=True)
class Features:
    """What is known of a changefeed, whatever its release. An empty member is not known."""

    protocol: str = ""
    """By TiCDC's latest name."""

    spellings: frozenset[str] = frozenset()
    """All names of the protocol, as `Release.protocols` has them."""

    sink: str = ""
    """`kafka` or `storage`."""

    settings: frozenset[str] | None = None
    """The settings and tables that it has, as `Release.options` spells them; None if they are not known."""

    def fit(self, concern: Concern) -> bool:
        """Return whether a behaviour may concern the changefeed."""
        return (
            (not self.protocol or not concern.protocols or self.protocol in concern.protocols)
            and (not self.sink or not concern.sink or self.sink == concern.sink)
            and (self.settings is None or not concern.settings or any(map(self._has, concern.settings)))
            and not (concern.default_of and self._has(concern.default_of))
        )

    def restricted(self, concern: Concern, value: object) -> object:
        """Return a value without the members of a set that do not concern the changefeed."""
        if concern.members == "settings" and self.settings is not None and isinstance(value, frozenset):
            return value & self.settings
        if concern.members == "protocol" and self.protocol and isinstance(value, frozenset):
            return value & self.spellings
        return value

    def _has(self, setting: str) -> bool:
        if setting == "protocol" and self.protocol:
            return True
        return any(f".{name.lstrip('?')}".endswith(f".{setting}") for name in self.settings or ())


ANY = Features()
"""Of all changefeeds."""
