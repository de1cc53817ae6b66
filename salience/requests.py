"""From a policy and a turn to what a model is asked: the whole turn, or each of its parts. Nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from salience.errors import OptionError
from salience.parts import split_turn
from salience.policy import Policy
from salience.protocols import Message
from salience.rendering import render_messages, turn_message
from salience.types import Turn


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: messages, reply schema and decoding parameters, exactly as a client gets them."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int | None
    temperature: float | None


class RequestBuilder:
    """Makes the requests for many turns under one policy; what they share is made once. The schema of all is one mapping: do not change it.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._head = tuple(render_messages(policy, Turn(""))[:-1])
        self._schema = policy.schema

    def whole(self, turn: Turn) -> Request:
        """Return what to ask about a turn, all of it at once.

        Raises:
            OptionError: `turn` is no Turn.
        """
        if not isinstance(turn, Turn):
            raise OptionError(f"turn must be a salience.Turn, got {type(turn).__name__}; see Turn(...) and Turn.from_messages([...])")
        decoding = self._policy.decoding
        return Request((*self._head, turn_message(turn)), self._schema, decoding.max_tokens, decoding.temperature)

    def parts(self, turn: Turn) -> tuple[Request, ...]:
        """Return what to ask about a turn: one request, or one for each part of a turn longer than the policy's `max_turn_chars`.

        Raises:
            OptionError: `turn` is no Turn.
        """
        return tuple(map(self.whole, turn_parts(self._policy, turn)))


def build_request(policy: Policy, turn: Turn) -> Request:
    """Return what to ask a model about a turn under a policy, the whole turn at once.

    Raises:
        OptionError: `turn` is no Turn.
    """
    return RequestBuilder(policy).whole(turn)


def build_requests(policy: Policy, turn: Turn) -> tuple[Request, ...]:
    """Return what to ask a model about a turn: one request, or one for each part of a turn longer than the policy's `max_turn_chars`.

    Raises:
        OptionError: `turn` is no Turn.
    """
    return RequestBuilder(policy).parts(turn)


def turn_parts(policy: Policy, turn: Turn) -> tuple[Turn, ...]:
    """Return the parts that a policy splits a turn into: the turn alone where it is short enough or the policy does not split."""
    longest = policy.max_turn_chars
    return (turn,) if longest is None or not isinstance(turn, Turn) else split_turn(turn, longest)
