"""One HTTP request with the standard library: one attempt, one deadline, no redirect. What an answer means is not decided here.

Failures come back as values. A raised error would carry frames of `http.client` whose variables hold the header with the key.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import socket
import time
import urllib.request
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from salience.providers.openai_outcomes import Answer, Failure, Send
from salience.providers.openai_secrets import Key
from salience.providers.openai_settings import Endpoint

if TYPE_CHECKING:
    import ssl

_CONNECT_SECONDS = 10.0
_LARGEST_ERROR = 64 << 10
_NO_HTTP = "it sent what is no valid HTTP"


class _TimedReader(io.RawIOBase):
    """Reads a socket until a moment, however slowly its peer drips."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_left(self._deadline))
        return self._sock.recv_into(buffer)


class _TimedSocket:
    """What `http.client` needs of a socket, with one deadline for all of it. Closing is left to whoever made the socket."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(_left(self._deadline))
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))

    def close(self) -> None:
        pass


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@functools.cache
def _tls() -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context()


class Exchange:
    """One request and its answer.

    Args:
        send: The request.
        endpoint: Where it goes.
        key: Sent as a bearer token where there is one.
        timeout: Seconds for all of it, from the first byte sent to the last one read.
    """

    def __init__(self, send: Send, endpoint: Endpoint, key: Key, timeout: float) -> None:
        self._send, self._endpoint, self._key, self._timeout = send, endpoint, key, timeout
        self._sock: socket.socket | None = None
        self._is_aborted = False

    def abort(self) -> None:
        """End a `run` in another thread, soon."""
        self._is_aborted = True
        if self._sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self._sock.shutdown(socket.SHUT_RDWR)

    def run(self) -> Answer | Failure:
        """Send the request and return the answer, or why there is none. It blocks."""
        try:
            return self._attempt()
        except (ImportError, OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            return _failure(error, self._timeout)
        except BaseException as stop:  # an interrupt: without the frames below, whose variables hold the key
            raise stop.with_traceback(None)  # noqa: B904 - it is the same error
        finally:
            if self._sock is not None:
                self._sock.close()

    def _attempt(self) -> Answer | Failure:
        deadline = time.monotonic() + self._timeout
        connection, target, extra = _route(self._endpoint, self._send.path, min(_CONNECT_SECONDS, self._timeout))
        if connection is None:
            return Failure("setup", "the proxy in the environment is none that speaks HTTP; set HTTP_PROXY, HTTPS_PROXY or NO_PROXY anew")
        try:
            connection.connect()
        except TimeoutError:
            return Failure("connection", f"it could not be reached within {min(_CONNECT_SECONDS, self._timeout):g} s")
        self._sock = connection.sock
        if self._is_aborted:
            return Failure("connection", "the call was given up")
        timed: Any = _TimedSocket(connection.sock, deadline)
        connection.sock = timed
        query = f"?{self._endpoint.query.reveal()}" if self._endpoint.query else ""
        connection.putrequest("POST", f"{target}{query}", skip_accept_encoding=True)
        for name, value in (*_HEADERS, ("Content-Length", str(len(self._send.body)))):
            connection.putheader(name, value)
        for name, secret in (*extra, ("Authorization", self._key)):
            if secret:
                connection.putheader(name, f"{'Bearer ' if secret is self._key else ''}{secret.reveal()}")
        connection.endheaders(self._send.body)
        return _read(connection.getresponse(), self._send.largest)


_HEADERS = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),  # so that a small answer cannot unfold to a huge one
    ("Content-Type", "application/json"),
    ("Connection", "close"),
    ("User-Agent", "salience"),
)


def _read(response: http.client.HTTPResponse, largest: int) -> Answer | Failure:
    limit = largest if 200 <= response.status < 300 else _LARGEST_ERROR
    body = response.read(limit + 1)
    if len(body) <= limit and response.length:  # 3.11 does not say so itself where a number of bytes is asked for
        return Failure("connection", "it broke off in the middle of its answer")
    headers = {name.lower(): value for name, value in response.getheaders()}
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        return Failure("protocol", "it sent its answer compressed, which was not asked for")
    return Answer(response.status, headers, body[:limit], len(body) > limit)


def _failure(error: Exception, timeout: float) -> Failure:
    """Return why there is no answer. A ValueError or AttributeError is what a hostile answer or an abort leaves."""
    for kind, failure in (
        (TimeoutError, Failure("timeout", f"no whole answer within {timeout:g} s")),
        (ImportError, Failure("setup", "this Python has no ssl module, which https needs; use one that has")),
        (http.client.RemoteDisconnected, Failure("connection", "it closed the connection without an answer")),
        (http.client.IncompleteRead, Failure("connection", "it broke off in the middle of its answer")),
    ):
        if isinstance(error, kind):
            return failure
    return _connection_failure(error) if isinstance(error, OSError) else Failure("protocol", _NO_HTTP + f" ({type(error).__name__})")


def _connection_failure(error: OSError) -> Failure:
    if hasattr(error, "verify_message"):
        return Failure("trust", f"its certificate is not trusted here ({error.verify_message}): name the authority's file in SSL_CERT_FILE")
    if type(error).__module__ == "ssl":
        return Failure(
            "trust", f"TLS failed ({getattr(error, 'reason', None)}); if the server speaks plain HTTP, write http:// for https://"
        )
    if error.errno is None and str(error).startswith("Tunnel"):
        return Failure("connection", "the proxy in the environment does not let it through")
    return Failure("connection", error.strerror or type(error).__name__)


def _route(endpoint: Endpoint, path: str, timeout: float) -> tuple[http.client.HTTPConnection | None, str, tuple[tuple[str, Key], ...]]:
    """Return a connection not made yet, what to ask it for, and headers for a proxy of the environment; no connection for an odd proxy."""
    target = endpoint.path + path
    kind: type[http.client.HTTPConnection] = http.client.HTTPConnection
    options: dict[str, Any] = {"timeout": timeout}
    if endpoint.scheme == "https":
        kind, options["context"] = http.client.HTTPSConnection, _tls()
    address = None if endpoint.is_loopback else urllib.request.getproxies().get(endpoint.scheme)
    if not address or urllib.request.proxy_bypass(endpoint.host):
        return kind(endpoint.host, endpoint.port, **options), target, ()
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    if proxy.scheme != "http" or not proxy.hostname:
        return None, target, ()
    pair = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
    login = Key("Basic " + b64encode(pair).decode()) if proxy.username else Key(None)
    connection = kind(proxy.hostname, proxy.port or 80, **options)
    if endpoint.scheme == "https":
        connection.set_tunnel(endpoint.host, endpoint.port, {"Proxy-Authorization": login.reveal()} if login else {})
        return connection, target, ()
    return connection, endpoint.shown + path, (("Proxy-Authorization", login),)
