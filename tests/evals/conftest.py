"""Small labelled data, and an OpenAI-compatible server on loopback that answers from the turn."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

FACTS = ["has a parrot named Kiko", "works at the harbour", "plays the oboe", "lives in Tartu", "is allergic to walnuts", "studies Basque"]


def make_case(number: int, *, split: str = "dev") -> dict[str, object]:
    """One case: the fact of its number, or small talk for every third."""
    fact = FACTS[number % len(FACTS)]
    negative = number % 3 == 2
    content = f"Good morning number {number}!" if negative else f"Case {number}: by the way, my neighbour knows that I am one who {fact}."
    memories = [] if negative else [
        {"id": "m1", "content": f"The user {fact}", "salience": 0.7, "evidence": [{"message": 0, "text": fact}]}
    ]  # fmt: skip
    return {
        "id": f"case-{number:03}", "conversation": f"conversation-{number // 2:03}", "split": split, "language": "en", "date": "2026-03-02",
        "messages": [{"role": "user", "content": content}], "memories": memories, "forbidden": [],
    }  # fmt: skip


def make_file(path: Path, count: int, *, split: str = "dev") -> Path:
    path.write_text("".join(json.dumps(make_case(number, split=split)) + "\n" for number in range(count)), encoding="utf-8")
    return path


@pytest.fixture
def labelled() -> Callable[..., dict[str, object]]:
    """Makes one labelled case."""
    return make_case


@pytest.fixture
def write_cases() -> Callable[..., Path]:
    """Writes a file of labelled cases."""
    return make_file


@pytest.fixture
def cases(isolated: Path) -> Path:
    """Twelve labelled cases in a file of the working folder."""
    return make_file(isolated / "mine.jsonl", 12)


class Server:
    """Counts what it was asked, and answers with the fact that it finds in the turn."""

    def __init__(self, delay: float) -> None:
        self.bodies: list[dict[str, object]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                time.sleep(delay)
                answer = json.dumps(outer.answer(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    @staticmethod
    def answer(body: dict[str, object]) -> dict[str, object]:
        turn = body["messages"][-1]["content"]
        found = [fact for fact in FACTS if fact in turn]
        text = json.dumps([{"content": f"The user {fact}", "salience": 0.8} for fact in found])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 10}}


def serve(delay: float) -> Iterator[Server]:
    server = Server(delay)
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serve(0.0)


@pytest.fixture
def slow_server() -> Iterator[Server]:
    yield from serve(0.15)
