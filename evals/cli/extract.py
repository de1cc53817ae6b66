"""`salience extract`: candidate memories of one text."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict, replace

from evals.cases import Case
from evals.cli.output import note, print_json, print_text
from evals.errors import WorkbenchError
from evals.models import open_model
from evals.models.base import Baseline, Model, ModelReply
from evals.models.calling import Caller
from evals.plan import load_policies
from evals.report.safe import printable
from salience import ExtractionResult, Policy, Turn, build_requests, read_results


def run(options: argparse.Namespace) -> int:
    """Run `salience extract` and return its exit code."""
    text = sys.stdin.read() if options.text == "-" else options.text
    if not text.strip():
        raise WorkbenchError("the text is empty; give what the user said, or - to read it from stdin")
    turn = Turn.from_messages([{"role": "user", "content": text}], source=options.source, date=options.date)
    model = open_model(options.model, base_url=options.base_url, jobs=1, progress=note)
    name = options.policy or ("embedded-default" if options.model.startswith("embedded/") else "default")
    policy = load_policies([name])[0]
    if options.max_turn_chars is not None:
        policy = replace(policy, max_turn_chars=options.max_turn_chars)
    if options.min_salience is not None:
        policy = replace(policy, options=replace(policy.options, min_salience=options.min_salience))
    if isinstance(model, Baseline):
        if options.policy:
            raise WorkbenchError(f"{options.model} is a baseline and takes no policy: leave -p out")
        policy = Policy(options=policy.options)
        replies = [ModelReply(model.reply(_unlabelled(text, options)))]
    else:
        replies = asyncio.run(_ask(model, policy, turn, options.seed))
        for name in sorted({name for reply in replies for name in reply.fallbacks}):
            note(f"the server refused a part of the request, and was asked without it: {name}")
    result = read_results(policy, turn, replies)
    if options.json:
        print_json(_as_dict(result))
    else:
        _print(result, options, policy)
    return 0


async def _ask(model: Model, policy: Policy, turn: Turn, seed: int) -> list[ModelReply]:
    caller = Caller(model)
    try:
        return [
            await caller.chat(
                request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature, seed=seed
            )
            for request in build_requests(policy, turn)
        ]
    finally:
        await model.close()


def _unlabelled(text: str, options: argparse.Namespace) -> Case:
    message = {"role": "user", "content": text}
    return Case(id="text", conversation="text", split="dev", language="en", date=options.date, messages=(message,), memories=())


def _as_dict(result: ExtractionResult) -> dict[str, object]:
    return {
        "candidates": [candidate.to_dict() for candidate in result.candidates],
        "status": result.status,
        "dropped": [asdict(item) for item in result.dropped],
        "reply": asdict(result.reply),
        "parts": [{"status": part.status, "reply": asdict(part.reply)} for part in result.parts],
    }


def _print(result: ExtractionResult, options: argparse.Namespace, policy: Policy) -> None:
    for candidate in result.candidates:
        print_text(f"{candidate.salience:.2f}  {printable(candidate.content)}")
    if options.quiet:
        return
    if not result.candidates:
        meaning = "nothing worth remembering" if result.status == "empty" else "no memory is left"
        note(f"({meaning}; reply {result.status}: {result.reply.text[:200]!r})")
    for item in result.dropped:
        note(f"(dropped, {item.reason}: {item.text})")
    under = "" if options.model.startswith("baseline/") else f", policy {policy.name} {policy.hash}"
    note(f"({options.model}{under}, reply {result.status})")
