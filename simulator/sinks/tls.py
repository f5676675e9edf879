"""The TLS settings of a changefeed as Python's."""

from __future__ import annotations

import ssl

from simulator.errors import UserError
from simulator.ticdc.changefeed.model import Tls

NO_PASSPHRASE = ""
"""With None, OpenSSL would ask the terminal for an encrypted key's passphrase; TiCDC accepts none either."""


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return the context of connections; raises UserError for files that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=tls.ca or None)
        if tls.cert:
            context.load_cert_chain(tls.cert, tls.key or None, NO_PASSPHRASE)
    except OSError as error:
        files = ", ".join(name for name in (tls.ca, tls.cert, tls.key) if name)
        raise UserError(f"the TLS files cannot be used ({files}): {error}") from error
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
