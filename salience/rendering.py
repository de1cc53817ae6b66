"""From a policy and a turn to the messages that a model gets. The one place where this is decided, and nothing is sent here."""

from __future__ import annotations

from salience.policy import Example, Policy
from salience.protocols import Message
from salience.types import Turn


def render_turn(turn: Turn) -> str:
    """Return the user message for a turn.

    A line `Date: ...` and a line `Source: ...`, each only where the turn has one, a line `Turn:`, then the turn's text unchanged.
    White space inside the source is folded, so that it stays on its line.
    """
    header = [f"Date: {turn.date}"] if turn.date else []
    if turn.source and turn.source.strip():
        header.append(f"Source: {' '.join(turn.source.split())}")
    return "\n".join([*header, "Turn:", turn.text])


def _example_block(example: Example) -> str:
    return f"{render_turn(example.turn)}\nReply:\n{example.reply}"


def render_messages(policy: Policy, turn: Turn) -> list[Message]:
    """Return the whole message list for one turn under a policy.

    The first message is the system text (with the examples appended where `examples_as` is "system"), then, where `examples_as` is
    "turns", a user and an assistant message for each example, and the turn last. Production, evaluation and tuning all use this
    function, so that what was scored is what is sent.

    Args:
        policy: The policy.
        turn: The turn to decide about.

    Returns:
        Messages with `role` and `content`.
    """
    system = policy.system
    shots: list[Message] = []
    if policy.examples and policy.examples_as == "system":
        system = "\n\n".join([system, "Examples:", *map(_example_block, policy.examples)])
    elif policy.examples:
        for example in policy.examples:
            shots.append({"role": "user", "content": render_turn(example.turn)})
            shots.append({"role": "assistant", "content": example.reply})
    return [{"role": "system", "content": system}, *shots, turn_message(turn)]


def turn_message(turn: Turn) -> Message:
    """Return the last message: the one that differs between turns under one policy."""
    return {"role": "user", "content": render_turn(turn)}
