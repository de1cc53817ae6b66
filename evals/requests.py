"""What was asked, as a hash: the run file names it with every reply, and scoring checks that the question is still the same."""

from __future__ import annotations

import hashlib
import json

from evals.cases import Case
from salience import Request, render_turn


def request_hash(request: Request) -> str:
    """Return the SHA-256 (64 hex digits) of what is sent: messages, schema (its key order matters) and decoding parameters."""
    text = json.dumps(
        [[dict(message) for message in request.messages], json.dumps(request.schema), request.max_tokens, request.temperature],
        sort_keys=True,
        ensure_ascii=True,
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def baseline_hash(case: Case) -> str:
    """Return the request hash of a baseline: of the turn that it reads."""
    return request_hash(Request(({"role": "user", "content": render_turn(case.turn())},), None, None, None))
