"""Run by `test_litellm.py` in a process of its own, as LiteLLM takes seconds to load: asks servers on loopback, prints what came as JSON.

The servers have a thread of their own, as LiteLLM now and then asks one with a call that blocks the event loop.
"""

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evals.errors import CallError, ModelError
from evals.models import Model, open_model
from evals.models.calling import Caller, Retry
from salience.protocols import Message

MESSAGES: list[Message] = [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "I moved to Oslo."}]
SCHEMA = {
    "type": "array",
    "items": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"], "additionalProperties": False},
}

FAULTS: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "limited": (429, "rate_limit_error", "slow, KEY", {"Retry-After": "7"}),
    "limited once": (429, "rate_limit_error", "slow", {"Retry-After": "0"}),
    "auth": (401, "authentication_error", "invalid x-api-key KEY", {}),
    "long": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", {}),
    "broken": (500, "api_error", "oops", {}),
    "no temperature": (400, "invalid_request_error", "temperature is not supported here", {}),
    "bad": (400, "invalid_request_error", "no such thing, KEY", {}),
}


class Provider(BaseHTTPRequestHandler):
    """Speaks as OpenAI, Anthropic and Ollama do; `mode` says what goes wrong, and echoes the key where an error can."""

    mode = "good"
    requests: list[dict[str, Any]] = []  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":  # asked for by LiteLLM's own book-keeping
            return self.answer(404, {"error": "none"})
        key = self.headers.get("x-api-key") or self.headers.get("authorization")
        self.requests.append({"path": self.path, "key": key, "body": body})
        if self.mode == "reset":
            self.close_connection = True
            return None
        if self.mode == "slow":
            threading.Event().wait(2)
        if self.mode == "html":
            return self.answer(200, "<html>hello</html>")
        if self.mode not in FAULTS or (self.mode == "no temperature" and "temperature" not in body):
            return self.answer(200, self.good(body))
        status, kind, message, headers = FAULTS[self.mode]
        if self.mode == "limited once":
            Provider.mode = "good"
        return self.answer(status, {"error": {"type": kind, "message": message.replace("KEY", str(key))}}, headers)

    def good(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.path == "/v1/messages":
            content: list[dict[str, Any]] = [{"type": "text", "text": "[]"}]
            if body.get("tools"):
                content = [{"type": "tool_use", "id": "t", "name": body["tools"][0]["name"], "input": {"memories": []}}]
            usage = {"input_tokens": 11, "output_tokens": 3}
            return {
                "id": "1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": content,
                "stop_reason": "end_turn",
                "usage": usage,
            }
        if self.path == "/api/chat":
            message = {"role": "assistant", "content": "[]"}
            return {"model": "m", "message": message, "done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 3}
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}
        message = {"role": "assistant", "content": "[]", "reasoning_content": "hm"}
        return {
            "id": "1",
            "object": "chat.completion",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


async def outcome(model: Model, mode: str, *, attempts: int = 1, **options: Any) -> dict[str, Any]:
    Provider.mode, Provider.requests = mode, []
    try:
        reply = await Caller(model, retry=Retry(attempts=attempts, base=0.01, limited_attempts=attempts)).chat(MESSAGES, **options)
        told: dict[str, Any] = {name: getattr(reply, name) for name in ("text", "finish_reason", "input_tokens", "output_tokens")}
        told |= {"attempts": reply.attempts, "fallbacks": reply.fallbacks, "reasoning_tokens": reply.reasoning_tokens}
    except CallError as error:
        told = {name: getattr(error, name) for name in ("kind", "retryable", "retry_after", "attempts", "status")}
        told |= {
            "message": f"{error}",
            "repr": f"{error!r} {error.__cause__} {error.__context__ if not error.__suppress_context__ else ''}",
        }
    except Exception as error:
        told = {"unexpected": repr(error)}
    return told | {"requests": Provider.requests}


async def session(url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    os.environ["ANTHROPIC_API_BASE"] = url

    def opened(name: str, base_url: str | None = None, timeout: float = 20) -> Model:
        model = open_model(name, base_url=base_url, timeout=timeout)
        assert isinstance(model, Model)
        return model

    models = {
        "openai": opened("litellm/openai/m", url + "/v1"),
        "anthropic": opened("litellm/anthropic/claude-sonnet-4-5"),
        "ollama": opened("litellm/ollama_chat/m", url),
    }
    found["litellm after opening"] = "litellm" in sys.modules
    for name, model in models.items():
        await model.prepare()
        found[name] = {mode: await outcome(model, mode) for mode in ("good", "limited", "auth", "long", "broken", "bad", "html", "reset")}
        found[name]["everything"] = await outcome(model, "good", schema=SCHEMA, max_tokens=50, temperature=0.0)
        found[name]["fingerprint"] = dict(model.fingerprint)
        found[name]["repr"] = f"{model!r} {model} {vars(model)}"
    anthropic = models["anthropic"]
    found["retried"] = await outcome(anthropic, "limited once", attempts=3)
    found["seed"] = [await outcome(anthropic, "good", seed=3) for _ in range(2)]
    found["temperature"] = [await outcome(anthropic, "no temperature", temperature=0.25) for _ in range(2)]
    found["slow"] = await outcome(opened("litellm/anthropic/claude-sonnet-4-5", timeout=0.2), "slow")
    found["nobody"] = await outcome(opened("litellm/openai/m", "http://127.0.0.1:1/v1"), "good")
    key = os.environ.pop("ANTHROPIC_API_KEY")
    found["no key"] = await outcome(opened("litellm/anthropic/claude-sonnet-4-5"), "good")
    found["refused"] = {}
    for name in ("litellm/anthropic/claude-sonnet-4-5", "litellm/nonsense/m"):
        try:
            await opened(name).prepare()
        except ModelError as error:
            found["refused"][name] = str(error)
    os.environ["ANTHROPIC_API_KEY"] = key
    for model in models.values():
        await model.close()
        await model.close()
    again = opened("litellm/openai/m", url + "/v1")  # LiteLLM keeps its clients for the process, closed ones too
    found["again"] = await outcome(again, "good")
    await again.close()
    return found


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = asyncio.run(session(f"http://127.0.0.1:{server.server_address[1]}"))
    server.shutdown()
    print("FOUND " + json.dumps(found))


if __name__ == "__main__":
    main()
