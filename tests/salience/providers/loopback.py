"""A server on loopback that keeps what it got, byte for byte, and answers from a script."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "canary-key-4711-secret"
Answer = tuple[int, Mapping[str, str], bytes] | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Got:
    """One request: method, path with query, headers with names in lower case, body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def entry(self) -> Any:
        return json.loads(self.body)


@dataclass
class Loopback:
    """Answers the requests in turn, the last answer over and over, or by a function of what it got."""

    answers: Sequence[Answer] | Callable[[Got], Answer]
    url: str = ""
    got: list[Got] = field(default_factory=list)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass  # clients of these tests hang up on purpose


@contextmanager
def serving(*answers: Answer, by: Callable[[Got], Answer] | None = None) -> Iterator[Loopback]:
    """Run a server while the block runs."""
    server = Loopback(by or answers)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                server.got.append(Got(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                place = len(server.got) - 1
            answer = server.answers(server.got[place]) if callable(server.answers) else server.answers[min(place, len(server.answers) - 1)]
            if callable(answer):
                answer(self)
                return
            status, headers, data = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    http = _Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def ok(entry: object, **headers: str) -> Answer:
    return 200, {"Content-Type": "application/json", **headers}, json.dumps(entry).encode()


def chat(content: object = "[]", reason: str = "stop", **message: object) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
    return ok({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **extra: object) -> Answer:
    return status, headers or {}, json.dumps({"error": {"message": message, **extra}}).encode()


def raw(data: bytes, *, gap: float = 0.0) -> Answer:
    """Send bytes as they are, one at a time where there is a gap, and close."""

    def write(handler: BaseHTTPRequestHandler) -> None:
        for part in (data[place : place + 1] for place in range(len(data))) if gap else (data,):
            handler.wfile.write(part)
            time.sleep(gap)
        handler.close_connection = True

    return write


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Break the connection as a crash would."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
