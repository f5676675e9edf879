"""What people read without the secrets in it.

One law: what stands before @ in a URI, and the value of a parameter whose name tells a secret, are shown as ***.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

SECRET = re.compile(r"pass|pasw|pwd|secret|token$|(access|account)[-_]?key|signature|credential|private", re.IGNORECASE)
"""Words in names of what nobody may read, misspelt ones too (tiflow v8.5.3: pkg/util/uri.go has much the same)."""

PARAMETER = re.compile(r"""([^\s?&='"]+)=(?!\*{3}(?:[\s)]|$))[^&'"\n]*""")
END = re.compile(r"[?#]")
NO_PORT = re.compile(r"://[^/]*:[^/\]]*[^/\]\d]")
USER = re.compile(r"""(:/{1,2})[^\s'"]*@""")


def is_secret(name: str) -> bool:
    """Whether a setting of that name holds a secret."""
    return SECRET.search(unquote(name)) is not None


def masked(text: str) -> str:
    """Any text with the secrets of the URIs and parameters in it hidden; rather too much of it than too little."""
    text = PARAMETER.sub(lambda found: f"{found[1]}={HIDDEN}" if is_secret(found[1]) else found[0], text)
    return USER.sub(rf"\1{HIDDEN}@", text)


def shown(uri: str) -> str:
    """A URI without its parameters, and without its user and password, which may hold ? or # by mistake."""
    head = END.split(uri, maxsplit=1)[0]
    return END.split(masked(uri), maxsplit=1)[0] if NO_PORT.search(head) and "@" not in head else masked(head)
