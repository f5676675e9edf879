"""`enable-old-value`, an option up to 7.3: whether rows come with what they were before.

One law: same codes and texts as TiCDC (cdc/sink/mq.go, pkg/cmd/cli, cdc/api/v2/api_helpers.go, pkg/config).
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError
from simulator.ticdc.changefeed.merged import Settings
from simulator.ticdc.codecs.codec import Protocol

REQUIRED = "enable-old-value = true in changefeed.toml is accepted"


def enabled(settings: Settings, protocol: Protocol) -> bool:
    """Whether it is on; raises ChangefeedError where the protocol or force-replicate needs it."""
    chosen, release = _chosen(settings), settings.release
    rule = protocol.old_values(release)
    if not chosen and settings.of_file("(top level)", "force-replicate") and release.force_replicate_needs_old_value:
        text = f"old value is not enabled: if use force replicate, old value feature must be enabled; {REQUIRED}"
        raise ChangefeedError(text, "CDC:ErrOldValueNotEnabled")
    if not chosen and rule == "required":
        raise ChangefeedError(f"Canal requires old value to be enabled; {REQUIRED}", "CDC:ErrKafkaInvalidConfig")
    return chosen or rule == "forced"


def idle(settings: Settings, protocol: Protocol) -> Iterator[str]:
    """A warning where the protocol turns it on."""
    if not _chosen(settings) and enabled(settings, protocol):
        yield f"enable-old-value = false has no effect: {protocol.name} turns it on"


def _chosen(settings: Settings) -> bool:
    return bool(settings.of_file("(top level)", "enable-old-value"))
