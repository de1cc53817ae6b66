"""What was asked, as a hash: the run file names it with every reply, and scoring checks that the question is still the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from evals.cases import Case
from evals.recall_cases import ConsolidationCase, Scenario
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


def input_hash(case: Case | ConsolidationCase | Scenario) -> str:
    """Return the request hash of what asks no model: of all that it reads of a case."""
    if isinstance(case, Case):
        content = render_turn(case.turn())
    elif isinstance(case, ConsolidationCase):
        content = json.dumps([case.new_fact, [[one.id, one.content] for one in case.existing]])
    else:
        content = json.dumps([[session.date, list(session.messages)] for session in case.sessions])
    return request_hash(Request(({"role": "user", "content": content},), None, None, None))
