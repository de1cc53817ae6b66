"""`salience extract`: candidate memories of one text, and with `--memory` what becomes of them in a store."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace

from evals.cli.candidates import as_dict, note_evidence, note_refusals, print_candidates
from evals.cli.listening import Listener
from evals.cli.output import note, print_json
from evals.cli.remembering import check_options, remember
from evals.errors import WorkbenchError
from evals.models import open_model
from evals.models.base import Baseline
from salience import ExtractionResult, OptionError, Policy, PolicyError, Turn


def run(options: argparse.Namespace) -> int:
    """Run `salience extract` and return its exit code."""
    check_options(options)
    text = sys.stdin.read() if options.text == "-" else options.text
    if not text.strip():
        raise WorkbenchError("the text is empty; give what the user said, or - to read it from stdin")
    meta = None if options.source_id is None else {"source_id": options.source_id}
    try:
        Turn("x", date=options.date)
    except OptionError:
        raise WorkbenchError(f"--date must be a day such as 2026-03-02, got {options.date!r}") from None
    turn = Turn.from_messages([{"role": "user", "content": text}], source=options.source, date=options.date, meta=meta)
    listener = _listener(options, text)
    if options.memory is not None:
        return remember(options, listener, turn)
    result = asyncio.run(_listen(listener, turn))
    note_refusals(listener)
    if options.json:
        print_json(as_dict(result))
        return 0
    print_candidates(result)
    if not options.quiet:
        note_evidence(result, options, listener)
    return 0


def _listener(options: argparse.Namespace, text: str) -> Listener:
    model = open_model(options.model, base_url=options.base_url, jobs=1, progress=note)
    policy = _policy(options)
    if isinstance(model, Baseline) and options.policy:
        raise WorkbenchError(f"{options.model} is a baseline and takes no policy: leave -p out")
    return Listener(model, policy, text, seed=options.seed)


def _policy(options: argparse.Namespace) -> Policy:
    """Return the policy that was named, or the default of the model, with the options on top."""
    try:
        policy = Policy.load(options.policy or ("embedded-default" if options.model.startswith("embedded/") else "default"))
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    if options.max_turn_chars is not None:
        policy = replace(policy, max_turn_chars=options.max_turn_chars)
    if options.min_salience is not None:
        policy = replace(policy, options=replace(policy.options, min_salience=options.min_salience))
    return policy


async def _listen(listener: Listener, turn: Turn) -> ExtractionResult:
    try:
        return await listener.extract(turn)
    finally:
        await listener.close()
