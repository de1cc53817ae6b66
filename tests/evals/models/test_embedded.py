"""The real engine with the real weights. What it answers is never judged, only that it answers alike."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from evals.errors import CallError, ModelError
from evals.models import Model, open_model
from evals.models.embedded import EmbeddedModel, default_servers
from salience import Policy, Turn, render_messages
from salience.protocols import Message

SYSTEM = "You are terse."
QUESTIONS = (
    "Say hi.",
    "I live in Berlin.",
    "My dog is called Rex and he is nine.",
    "I hate coriander.",
    "Name a colour.",
    "Why is the sky blue?",
)
SCHEMA = {
    "type": "array",
    "maxItems": 2,
    "items": {
        "type": "object",
        "properties": {"content": {"type": "string", "maxLength": 20}, "salience": {"enum": [0.1, 0.9]}},
        "required": ["content", "salience"],
        "additionalProperties": False,
    },
}


def messages(text: str, system: str | None = SYSTEM) -> list[Message]:
    head: list[Message] = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": text}]


def answers(path: Path, questions: Sequence[str], servers: int) -> dict[str, set[str]]:
    """Ask all questions at once, and return the different answers to each."""

    async def run() -> list[str]:
        model = EmbeddedModel("gguf:x", path, sha256="0", servers=servers)
        try:
            replies = await asyncio.gather(*[model.chat(messages(text), max_tokens=16) for text in questions])
        finally:
            await model.close()
        return [reply.text for reply in replies]

    found: dict[str, set[str]] = {}
    for question, text in zip(questions, asyncio.run(run()), strict=True):
        found.setdefault(question, set()).add(text)
    return found


def test_replies_do_not_depend_on_order_repetition_or_servers(smollm2_path: Path) -> None:
    twice = [question for question in QUESTIONS for _ in range(2)]  # the same request twice in a row is where a prefix cache shows
    first = answers(smollm2_path, twice, 1)
    assert all(len(texts) == 1 for texts in first.values())
    assert answers(smollm2_path, QUESTIONS, 2) == first
    assert answers(smollm2_path, QUESTIONS[::-1], 2) == first


def test_one_model_end_to_end(smollm2_path: Path) -> None:
    async def run() -> None:
        model = open_model(f"gguf:{smollm2_path}", jobs=1)
        assert isinstance(model, Model)
        assert model.concurrency == 1
        assert model.fingerprint["weights_sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        assert str(model.fingerprint["engine"]).startswith("xllamacpp ")
        await model.prepare()
        shaped = await model.chat(messages("I love tea."), schema=SCHEMA, max_tokens=60, temperature=0, seed=3)
        assert shaped.text.lstrip().startswith("[")
        cut = await model.chat(messages("Count to a hundred."), max_tokens=3)
        assert (cut.finish_reason, cut.output_tokens) == ("length", 3)
        # The tokens of ChatML, which is this model's template: system and user text between its marks, 22 tokens in all.
        assert (await model.chat(messages("Say hi.", "You are terse."), max_tokens=1)).input_tokens == 22
        with pytest.raises(CallError, match="exceeds the available context") as caught:
            await model.chat(messages("hello " * 5000), max_tokens=3)
        assert (caught.value.kind, caught.value.retryable) == ("too_long", False)
        with pytest.raises(CallError, match="schema") as refused:
            await model.chat(messages("x"), schema={"type": "nonsense"}, max_tokens=3)
        assert refused.value.kind == "engine"
        await model.close()
        await model.close()

    asyncio.run(run())


def test_cut_off_file_is_a_model_error(smollm2_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    with smollm2_path.open("rb") as whole:
        path.write_bytes(whole.read(3_000_000))

    async def run() -> None:
        model = open_model(f"gguf:{path}", environ={"SALIENCE_CACHE": str(tmp_path)})
        assert isinstance(model, Model)
        with pytest.raises(ModelError, match=r"cannot load .*damaged or cut off"):
            await model.prepare()
        await model.close()

    asyncio.run(run())


def test_process_ends_quietly_without_close(smollm2_path: Path) -> None:
    code = (
        "import asyncio, sys; from evals.models import open_model\n"
        "model = open_model('gguf:' + sys.argv[1], jobs=1)\n"
        "reply = asyncio.run(model.chat([{'role': 'user', 'content': 'hi'}], max_tokens=2)); print(reply.output_tokens)"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code, str(smollm2_path)], capture_output=True, text=True, check=False, env=environ)
    assert (result.returncode, result.stdout, result.stderr) == (0, "2\n", "")


def test_fork_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = EmbeddedModel("gguf:x", tmp_path / "x", sha256="0", servers=1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ModelError, match="forked process; start processes with the method 'spawn'"):
        asyncio.run(model.prepare())


@pytest.mark.parametrize(("jobs", "size", "most"), [(1, 0, 1), (None, 0, 8), (64, 10**15, 1), (2, 0, 2)])
def test_default_servers(jobs: int | None, size: int, most: int) -> None:
    assert 1 <= default_servers(jobs, size) <= most


def test_prompts_that_take_turns_are_kept_and_answered_alike(smollm2_path: Path) -> None:
    """Prefixes that are put away and taken back give the replies that they give in one go."""
    policies = [Policy.load(name) for name in ("embedded-default", "default-small")]
    turns = [Turn(f"[user] I moved to Lyon {number} years ago and my dog Bo is {number + 1}.") for number in range(3)]

    async def ask(order: list[tuple[Policy, Turn]]) -> dict[tuple[str, str], str]:
        model = EmbeddedModel("m", smollm2_path, sha256="0", servers=1)
        try:
            return {
                (policy.name, turn.text): (
                    await model.chat(render_messages(policy, turn), schema=policy.schema, max_tokens=40, temperature=0)
                ).text
                for policy, turn in order
            }
        finally:
            await model.close()

    in_one_go = asyncio.run(ask([(policy, turn) for policy in policies for turn in turns]))
    in_turns = asyncio.run(ask([(policy, turn) for turn in turns for policy in policies]))
    assert in_one_go == in_turns
