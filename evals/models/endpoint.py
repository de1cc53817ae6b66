"""Where a server is, and the way there. Nothing is sent here."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from evals.errors import ModelError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server is.

    Attributes:
        url: The whole address of the chat completions, with a query where the base address has one.
        shown: The base address without query, for messages and the fingerprint.
        host: The host's name.
        port: The port.
        is_loopback: Whether it is this machine.
    """

    url: str
    shown: str
    host: str
    port: int
    is_loopback: bool

    @classmethod
    def parse(cls, base_url: str) -> Endpoint:
        """Return the endpoint of a base address such as "http://localhost:8000/v1".

        Raises:
            ModelError: It is no http or https address, or holds a user name or password; the message shows neither.
        """
        try:
            parts: SplitResult = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise ModelError("the base URL cannot be read; give one like http://localhost:8000/v1") from None
        if parts.username is not None or parts.password is not None:
            raise ModelError("the base URL holds a user name or password; leave them out and put the key into OPENAI_API_KEY")
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.fragment:
            got = "one that may hold a password" if "@" in base_url else repr(base_url.partition("?")[0])
            raise ModelError(f"the base URL must be like http://localhost:8000/v1, got {got}")
        base = parts._replace(path=parts.path.rstrip("/"), query="")
        url = base._replace(path=base.path + "/chat/completions", query=parts.query).geturl()
        number = port or (443 if parts.scheme == "https" else 80)
        return cls(url, base.geturl(), parts.hostname, number, parts.hostname in _LOOPBACK)

    @property
    def secrets(self) -> list[str]:
        """The values in the address's query, as they are sent and as they are meant: any of them may be a key."""
        raw = [part.partition("=")[2] for part in urlsplit(self.url).query.split("&")]
        return [*raw, *map(unquote, raw)]

    def proxy(self) -> dict[str, Any]:
        """Return aiohttp's proxy arguments from the environment. Its own reading would also send what `~/.netrc` holds."""
        import aiohttp

        address = urllib.request.getproxies().get(urlsplit(self.url).scheme)
        if not address or self.is_loopback or urllib.request.proxy_bypass(self.host):
            return {}
        parts = urlsplit(address if "://" in address else f"http://{address}")
        auth = aiohttp.BasicAuth(unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        return {"proxy": parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), "proxy_auth": auth}


def check_key(key: str | None) -> str | None:
    """Return a key without white space around it, None for an empty one.

    Raises:
        ModelError: It holds what no HTTP header can; the message does not show it.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelError("the key in OPENAI_API_KEY holds spaces, line breaks or letters that no key has; set it again")
    return key or None
