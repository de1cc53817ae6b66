"""Where a service is, the key for it, and how patient a client is. Nothing is sent here."""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from salience.errors import OptionError
from salience.providers.openai_errors import MissingKeyError, ProviderError
from salience.providers.openai_secrets import KEY_VARIABLE, Key

OPENAI_URL = "https://api.openai.com/v1"
_OPENAI_HOSTS = re.compile(r"(?:[\w-]+\.)*(?:api\.openai\.com|openai\.azure\.com)\Z")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Retry:
    """When a call is sent again: after 408, 409, 425, 429 without a spent quota, 5xx, and a connection that failed or broke.

    Never after any other 4xx, a spent quota, a timeout, or an answer that cannot be read.

    Attributes:
        attempts: How often a call is sent at the most, from 1 up.
        base: Seconds before the second attempt; doubled for each further one. Each wait is shortened at random by up to a half.
        longest: The longest such wait, in seconds.
        patience: The longest wait that a server may ask for with Retry-After, in seconds; one that asks for more ends the call at once.

    Raises:
        OptionError: A value is out of range.
    """

    attempts: int = 4
    base: float = 0.5
    longest: float = 8.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise OptionError(f"Retry.attempts must be a whole number from 1 up, got {self.attempts!r}")
        for name in ("base", "longest", "patience"):
            check_seconds(f"Retry.{name}", getattr(self, name), least=0.0)

    def wait(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait after a failed attempt, or None where there is to be no other.

        Args:
            error: What the attempt ended with.
            attempt: Its number, from 1 up.
        """
        if not error.retryable or attempt >= self.attempts or (error.retry_after or 0.0) > self.patience:
            return None
        if error.retry_after:
            return error.retry_after
        return min(self.longest, self.base * 2.0 ** min(attempt - 1, 30)) * random.uniform(0.5, 1.0)


def check_seconds(name: str, value: object, *, least: float) -> float:
    """Return a number of seconds from `least` to a day.

    Raises:
        OptionError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 86_400:
        raise OptionError(f"{name} must be a number of seconds from {least:g} to 86400, got {value!r}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a service is.

    Attributes:
        scheme: "http" or "https".
        host: The host's name.
        port: The port.
        path: The path of the base address, without a slash at its end.
        query: What follows the question mark of the base address; it goes with every request. It may hold a key: no repr shows it.
        shown: The base address without query, for messages.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: Key
    shown: str

    @classmethod
    def parse(cls, base_url: str) -> Endpoint:
        """Return the endpoint of a base address such as "http://localhost:8000/v1".

        Raises:
            OptionError: It is no http or https address, or holds a user name or password; the message shows neither.
        """
        advice = "give one like http://localhost:8000/v1"
        if not isinstance(base_url, str):
            raise OptionError(f"base_url must be a string or None, got {type(base_url).__name__}; {advice}")
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise OptionError(f"base_url cannot be read; {advice}") from None
        if parts.username is not None or parts.password is not None:
            raise OptionError("base_url holds a user name or password; leave them out and give the key as api_key or in OPENAI_API_KEY")
        address = f"{parts.netloc}{parts.path}{parts.query}"
        is_plain = address.isascii() and address.isprintable() and " " not in address
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.fragment or not is_plain:
            got = "one that may hold a password" if "@" in base_url else repr(base_url.partition("?")[0])
            raise OptionError(f"base_url must be an http or https address, got {got}; {advice}")
        bare = parts._replace(path=parts.path.rstrip("/"), query="")
        number = port if port is not None else (443 if parts.scheme == "https" else 80)
        return cls(parts.scheme, parts.hostname, number, bare.path, Key(parts.query), bare.geturl())

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI itself, or OpenAI on Azure: they need a key, and want the newer names of parameters."""
        return _OPENAI_HOSTS.match(self.host) is not None

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        return self.host in _LOOPBACK

    def secrets(self) -> list[str]:
        """Return the values in the query, as they are sent and as they are meant: any of them may be a key."""
        raw = [part.partition("=")[2] for part in self.query.reveal().split("&")]
        return [*raw, *map(unquote, raw)]


def check_model(model: object) -> str:
    """Return a model's name.

    Raises:
        OptionError: It is no string, or empty.
    """
    if not isinstance(model, str) or not model.strip():
        raise OptionError(f"model must be a model's name such as 'gpt-5-nano', got {model!r}")
    return model


def find_key(given: Key, endpoint: Endpoint) -> Key:
    """Return the key to use: the one given, else that of the environment.

    Args:
        given: The key given; of None for `OPENAI_API_KEY`, of "" for none at all.
        endpoint: Where it goes. OpenAI takes no call without; another service may.

    Raises:
        MissingKeyError: There is none, and OpenAI is asked.
        OptionError: It cannot be one.
    """
    key = given if given.is_given else Key(os.environ.get(KEY_VARIABLE))
    key.check()
    if not key and endpoint.is_openai:
        raise MissingKeyError(
            f"there is no key for {endpoint.shown}: set {KEY_VARIABLE} or give api_key=...; "
            "for a server that needs none, give its address as base_url=..."
        )
    return key
