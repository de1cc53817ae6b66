"""What was asked, as a hash: the run file names it with every reply, and scoring checks that the question is still the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from evals.cases import Case
from salience import Request, render_turn


def request_hash(request: Request) -> str:
    """Return the SHA-256 (64 hex digits) of what is sent: messages, schema (its key order matters) and decoding parameters."""
    return RequestHasher().hash(request)


class RequestHasher:
    """Hashes requests that share all but their last message: what they share is hashed once."""

    def __init__(self) -> None:
        self._shared: list[Any] = []
        self._begun = hashlib.sha256()

    def hash(self, request: Request) -> str:
        """Return the SHA-256 (64 hex digits) of a request."""
        *before, last = request.messages
        shared = [request.schema, request.max_tokens, request.temperature, before]
        if self._shared != shared:
            head = [json.dumps(request.schema), *shared[1:3], [dict(message) for message in before]]
            self._begun = hashlib.sha256(json.dumps(head, sort_keys=True).encode("ascii"))
            self._shared = shared
        whole = self._begun.copy()
        whole.update(json.dumps([last["role"], last["content"]]).encode("ascii"))
        return whole.hexdigest()


def baseline_hash(case: Case) -> str:
    """Return the request hash of a baseline: of the turn that it reads."""
    return request_hash(Request(({"role": "user", "content": render_turn(case.turn())},), None, None, None))
