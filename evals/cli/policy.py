"""`salience policy show`, `save` and `diff`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evals.cli.output import print_json, print_text, terminal_width
from evals.errors import WorkbenchError
from evals.report.safe import printable
from salience import ConsolidationPolicy, Policy, PolicyError
from salience.policy_file import policy_to_dict
from salience.rendering import render_turn

if TYPE_CHECKING:
    from evals.tune.artefact import Artefact


def show(options: argparse.Namespace) -> int:
    """Run `salience policy show`."""
    if options.policy is None:
        policies = [Policy.load(name) for name in Policy.names()]
        if options.json:
            print_json([{"name": policy.name, "hash": policy.hash} for policy in policies])
        else:
            for policy in policies:
                print_text(f"{policy.hash}  {policy.name:20}  {_summary(policy)}")
        return 0
    policy = Policy.load(options.policy)
    if options.json:
        print_json(policy_to_dict(policy))
    else:
        print_text(_rendered(policy))
    return 0


def _summary(policy: Policy) -> str:
    parts = ["reply schema" if policy.schema_json else "no reply schema"]
    parts.append(f"{len(policy.examples)} examples as {policy.examples_as}" if policy.examples else "no examples")
    return ", ".join(parts)


def _rendered(policy: Policy) -> str:
    options = policy.options
    lines = [
        f"name: {printable(policy.name)}",
        f"hash: {policy.hash}",
        f"needs: {'a ChatClient' if policy.needs_chat else 'any LlmClient'}",
        f"operating threshold: {policy.threshold:g}",
        f"options: min_salience {options.min_salience:g}, max_candidates {options.max_candidates}, "
        f"default_observed {options.default_observed}",
        f"decoding: max_tokens {policy.decoding.max_tokens}, temperature {policy.decoding.temperature}",
        *([] if policy.max_turn_chars is None else [f"long turns: split above {policy.max_turn_chars} characters (max_turn_chars)"]),
        f"calibration: {'none' if policy.calibration is None else policy.calibration.points}",
        f"schema: {policy.schema_json or 'none'}",
        "", "system:", printable(policy.system, keep_lines=True),
    ]  # fmt: skip
    for number, example in enumerate(policy.examples, start=1):
        lines += ["", f"example {number} (as {policy.examples_as}):", printable(render_turn(example.turn), keep_lines=True)]
        lines += ["reply:", printable(example.reply, keep_lines=True)]
    return "\n".join(lines)


def save(options: argparse.Namespace) -> int:
    """Run `salience policy save`."""
    path = Path(options.output)
    if path.exists():
        raise WorkbenchError(f"{path} exists already; policies are never overwritten, choose another name")
    if options.name in Policy.names():
        raise WorkbenchError(f"{options.name!r} is the name of a policy that ships; choose another --name")
    policy = Policy.load(options.policy, check_hash=False)
    provenance = {key: value for key, value in policy.provenance.items() if key != "hash"} | {"saved_from": str(options.policy)}
    longest = policy.max_turn_chars if options.max_turn_chars is None else options.max_turn_chars
    renamed = replace(policy, name=options.name, provenance=provenance, max_turn_chars=longest)
    try:
        renamed.save(path)
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be written: {error.strerror or error}") from None
    print_text(f"{path}: {renamed.name} {renamed.hash}")
    return 0


def diff(options: argparse.Namespace) -> int:
    """Run `salience policy diff` and return 0."""
    from evals.tune.artefact import Artefact
    from evals.tune.diffing import policy_diff, scores_of

    left, right = (_either(name) for name in (options.left, options.right))
    one, other = (side.policy if isinstance(side, Artefact) else side for side in (left, right))
    print_text(policy_diff(one, other, terminal_width() or 120, scores=(scores_of(left), scores_of(right))))
    return 0


def _either(name: str) -> Policy | ConsolidationPolicy | Artefact:
    """A policy of extraction, or with "consolidation:" before its name or in its file one of consolidation, or an artefact of tuning."""
    kind, colon, rest = name.partition(":")
    try:
        if colon and kind == "consolidation":
            return ConsolidationPolicy.load(rest)
        try:
            return Policy.load(name)
        except PolicyError:
            if not Path(name).is_file():
                raise
        if '"optimizer"' in Path(name).read_text(encoding="utf-8", errors="replace"):
            from evals.tune.artefact import read_artefact

            return read_artefact(Path(name))
        return ConsolidationPolicy.load(name)
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
