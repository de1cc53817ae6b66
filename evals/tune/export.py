"""From an artefact to what ships: a Python module that imports nothing, a TypeScript module, a policy file. Pure functions of the artefact.

What ships is what was scored: the texts are those that the library's own renderer puts before a turn, and every module says for which
model, from what, and with which figures. A bare string is written only where nothing else was sent.
"""

from __future__ import annotations

import ast
import json
import textwrap
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evals.errors import WorkbenchError
from evals.report import numbers
from evals.tune.artefact import TUNED, AnyPolicy, Artefact
from evals.tune.artefact_fields import check_text, given, plain
from evals.tune.literals import (
    ascii_line,
    python_docstring,
    python_value,
    same_in_javascript,
    typescript_comment,
    typescript_text,
    typescript_value,
)
from salience import ConsolidationPolicy, Decoding, ExtractOptions, Policy, PolicyError, Turn, render_messages
from salience import consolidation_file as for_consolidation
from salience import policy_file as for_extraction
from salience.consolidation_requests import render_consolidation_messages
from salience.prompts.recall import CONSOLIDATION_SCHEMA

_WIDTH = 120
_MOST_CHARS = 10_000_000
"""The longest module that is read back, in characters."""
_USER = {
    "extraction": "The user message of a turn is what salience.render_turn writes: a line `Date: YYYY-MM-DD` and a line `Source: ...`, "
    "each only where it is known, a line `Turn:`, then the turn's text.",
    "consolidation": "The user message is what salience.consolidation_requests.render_consolidation writes: known memories, then new "
    "facts, one JSON object a line.",
}
_COMMENTS = {
    "PROMPT": "The whole system message. Nothing else was sent before the user message.",
    "DECODING": "Sent with every request; what is not set was left to the server.",
    "OPTIONS": "What salience does with the candidates of a reply.",
    "CALIBRATION": "[raw, calibrated] points: a reply's salience is mapped through them, linearly between two, before THRESHOLD.",
    "THRESHOLD": "Candidates of this salience and above are kept.",
    "MAX_TURN_CHARS": "Longer turns are split, and each part asked about on its own.",
    "EXAMPLES_AS": "Where examples go.",
    "EXAMPLES": "What the examples above were made of. Only for checking POLICY_HASH.",
    "POLICY_HASH": "Of everything above but NAME and TASK.",
    "GATE": "What the gate on test ruled.",
    "REFUSED": "It has not passed the gate, and was exported with --refused.",
}
_SCHEMA = "The reply schema that every request carried."
_NARROWED = (
    "The reply schema. What every request carried is this one narrowed to its facts and memories: salience.consolidation_schema.fit_schema."
)
_NAMES = (
    "NAME", "TASK", "PROMPT", "MESSAGES", "SCHEMA", "DECODING", "OPTIONS", "CALIBRATION", "THRESHOLD", "MAX_TURN_CHARS", "EXAMPLES_AS",
    "EXAMPLES", "POLICY_HASH", "ARTEFACT_HASH", "MODEL", "GATE", "REFUSED",
)  # fmt: skip


def python_module(artefact: Artefact, *, refused: bool = False) -> str:
    """Return a Python module that imports nothing, in ASCII.

    It holds `PROMPT`, a text, for a policy without a schema and without examples sent as turns; else `MESSAGES`, all messages that come
    before the user's, and `SCHEMA` where there is one. `load_python` reads it back without running it.

    Args:
        artefact: What to export.
        refused: Whether to export it although it has not passed the gate; the module then says so.

    Raises:
        WorkbenchError: It has not passed the gate and `refused` is false, or its schema cannot be written as a Python literal.
    """
    values, comments = _constants(artefact, refused)
    lines = [python_docstring(_told(artefact)), ""]
    for name, value in values.items():
        lines += [*(f"# {line}" for line in _folded(comments.get(name, ""))), f"{name} = {python_value(value)}"]
    text = "\n".join([*lines, ""])
    if _read_constants(text, "the module") != values:
        raise WorkbenchError(f"the policy {artefact.policy.name!r} cannot be written as Python; export it with --policy FILE")
    return text


def typescript_module(artefact: Artefact, *, refused: bool = False) -> str:
    """Return a TypeScript module of the same constants, in ASCII.

    Where an object of JavaScript would not give the schema's bytes again, `SCHEMA_JSON` holds them too.

    Args:
        artefact: As for `python_module`.
        refused: As for `python_module`.

    Raises:
        WorkbenchError: It has not passed the gate and `refused` is false.
    """
    values, comments = _constants(artefact, refused)
    lines = [*(f"// {line}".rstrip() for line in map(typescript_comment, _told(artefact))), ""]
    for name, value in values.items():
        lines += [*(f"// {line}" for line in _folded(comments.get(name, ""))), f"export const {name} = {typescript_value(value)} as const;"]
        if name == "SCHEMA" and not same_in_javascript(value):
            lines += ["// The schema's text as it was sent: an object of JavaScript orders keys or writes numbers otherwise."]
            lines += [f"export const SCHEMA_JSON = {typescript_text(artefact.policy.schema_json or '')} as const;"]
    return "\n".join([*lines, ""])


def policy_file(artefact: Artefact, *, refused: bool = False) -> AnyPolicy:
    r"""Return the policy to save, with where it comes from in its provenance.

    Args:
        artefact: As for `python_module`.
        refused: As for `python_module`.

    Returns:
        The policy; `save` writes it.

    Raises:
        WorkbenchError: It has not passed the gate and `refused` is false, or it holds half of a surrogate pair, which no policy file can.
    """
    check_passed(artefact, refused)
    policy, gate = artefact.policy, artefact.gate or {}
    scores = {split: {"n": rows.get("n", 0), **artefact.figures(split)} for split, rows in artefact.scores.items() if TUNED in rows}
    told: dict[str, Any] = {
        "artefact": artefact.hash, "tuned_hash": policy.hash, "model": artefact.model, "optimizer": artefact.optimizer,
        "base": {"name": artefact.base.name, "hash": artefact.base.hash},
        "data": {name: artefact.data[name] for name in ("name", "version", "hash")}, "made": artefact.made, "scores": scores,
        "gate": {name: gate[name] for name in ("date", "verdict", "called", "reused", "reasons") if name in gate} or None,
    }  # fmt: skip
    if not artefact.passed:
        told["refused"] = True
    kept = {name: value for name, value in policy.provenance.items() if name not in ("hash", "refused")}
    found = replace(policy, provenance=kept | told)
    content = for_extraction.policy_to_dict(found) if isinstance(found, Policy) else for_consolidation.policy_to_dict(found)
    check_text(f"the policy {ascii_line(policy.name)}", content)
    return found


def load_python(path: Path) -> dict[str, Any]:
    """Read a module that `python_module` made, without running it, and check `POLICY_HASH` against what it holds.

    Args:
        path: The module.

    Returns:
        Its constants by name.

    Raises:
        WorkbenchError: It cannot be read, holds anything but such constants, or was changed.
    """
    try:
        text = for_extraction.read_text(Path(path))
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    constants = _read_constants(text, str(path))
    policy_of_module(constants, path)
    return constants


def policy_of_module(constants: Mapping[str, Any], path: Path) -> AnyPolicy:
    """Return the policy that a module's constants stand for: it sends what they hold, byte for byte.

    Args:
        constants: As `load_python` returns them.
        path: Where they come from, for messages.

    Raises:
        WorkbenchError: They are not valid, or do not fit one another or `POLICY_HASH`.
    """
    for name in ("NAME", "TASK", "POLICY_HASH"):
        if not isinstance(constants.get(name), str):
            raise WorkbenchError(f"{path}: {name} must be a text, got {given(constants.get(name))}")
    if constants["TASK"] not in _USER:
        raise WorkbenchError(f'{path}: TASK must be "extraction" or "consolidation", got {given(constants["TASK"])}')
    head = _head_of(constants, path)
    try:
        drawn = _rebuilt(constants, "-", path)
        shown = head_messages(drawn)[0]["content"].removeprefix("-")
        system = head[0]["content"]
        policy = _rebuilt(constants, system.removesuffix(shown), path)
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    if head_messages(policy) != head:
        raise WorkbenchError(f"{path}: the messages do not fit EXAMPLES and EXAMPLES_AS: the file was changed; export it again")
    if policy.hash != constants["POLICY_HASH"]:
        raise WorkbenchError(
            f"{path}: POLICY_HASH is {given(constants['POLICY_HASH'])} but the contents have {policy.hash!r}: the file was changed after "
            "it was exported, so that its figures are not those of this prompt; export it again, or tune or evaluate the change as a policy"
        )
    return policy


def head_messages(policy: AnyPolicy) -> list[dict[str, str]]:
    """Return all messages that come before the user's, as the library renders them."""
    messages = render_messages(policy, Turn("")) if isinstance(policy, Policy) else render_consolidation_messages(policy, (), ())
    return [{"role": message["role"], "content": message["content"]} for message in messages[:-1]]


def check_passed(artefact: Artefact, refused: bool) -> None:
    """Check that an artefact may be exported.

    Args:
        artefact: The artefact.
        refused: Whether it may be even if it has not passed.

    Raises:
        WorkbenchError: It may not; the message says why.
    """
    if artefact.passed or refused:
        return
    name = ascii_line(artefact.policy.name)
    raise WorkbenchError(
        f"{name} ({artefact.hash}) {_why_refused(artefact)}. Open test with: salience tune gate ARTEFACT; or export it all the same with "
        "--refused, and what is written says so"
    )


def _why_refused(artefact: Artefact) -> str:
    gate = artefact.gate
    if gate is None:
        return "has not been through the gate: nothing shows that it is better on cases that the search did not see"
    reasons = "; ".join(ascii_line(reason) for reason in gate["reasons"]) or "no reason is given"
    return f"did not pass the gate of {ascii_line(gate['date'])} ({gate['verdict']}): {reasons}"


def _constants(artefact: Artefact, refused: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the constants of a module in order, and what is said of them."""
    check_passed(artefact, refused)
    policy = artefact.policy
    head = head_messages(policy)
    turns = bool(policy.examples) and policy.examples_as == "turns"
    values: dict[str, Any] = {"NAME": policy.name, "TASK": artefact.task}
    comments = dict(_COMMENTS)
    if turns or policy.schema_json is not None:
        values["MESSAGES"] = head
        comments["MESSAGES"] = (
            "All messages that come before the user's. A bare string would not be honest: the scores were earned with "
            + " and with ".join(
                [*(["examples sent as turns"] if turns else []), *(["the reply schema below"] if policy.schema_json else [])]
            )
            + ", and the text alone was never scored."
        )
    else:
        values["PROMPT"] = head[0]["content"]
    if policy.schema_json is not None:
        values["SCHEMA"] = policy.schema
        comments["SCHEMA"] = _NARROWED if artefact.task == "consolidation" and policy.schema_json == _compact_default() else _SCHEMA
    if policy.decoding != Decoding():
        values["DECODING"] = {"max_tokens": policy.decoding.max_tokens, "temperature": policy.decoding.temperature}
    if isinstance(policy, Policy):
        values |= _of_extraction(policy)
    if policy.examples:
        values |= {"EXAMPLES_AS": policy.examples_as, "EXAMPLES": _raw_examples(policy)}
    values |= {"POLICY_HASH": policy.hash, "ARTEFACT_HASH": artefact.hash, "MODEL": artefact.model}
    values["GATE"] = artefact.gate["verdict"] if artefact.gate is not None else "none"
    return values | ({} if artefact.passed else {"REFUSED": True}), comments


def _compact_default() -> str:
    return json.dumps(json.loads(CONSOLIDATION_SCHEMA), separators=(",", ":"))


def _of_extraction(policy: Policy) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if policy.options != ExtractOptions():
        options = policy.options
        found["OPTIONS"] = {
            "min_salience": options.min_salience, "max_candidates": options.max_candidates, "default_observed": options.default_observed,
        }  # fmt: skip
    if policy.calibration is not None:
        found["CALIBRATION"] = [list(point) for point in policy.calibration.points]
    found["THRESHOLD"] = policy.threshold
    return found | ({} if policy.max_turn_chars is None else {"MAX_TURN_CHARS": policy.max_turn_chars})


def _raw_examples(policy: AnyPolicy) -> list[dict[str, Any]]:
    content = for_extraction.policy_to_dict(policy) if isinstance(policy, Policy) else for_consolidation.policy_to_dict(policy)
    return list(content["examples"])


def _told(artefact: Artefact) -> list[str]:
    """Return what a module says of itself, lines of ASCII."""
    data, gate = artefact.data, artefact.gate
    options = " ".join(f"{key}={value}" for key, value in artefact.options.items() if value != "")
    facts = {
        "policy": f"{artefact.policy.name} {artefact.policy.hash}", "artefact": f"{artefact.hash}, made {artefact.made}",
        "model": artefact.model,
        "optimizer": f"{artefact.optimizer} {options} seed={artefact.seed}; {artefact.candidates} candidates tried",
        "base": f"{artefact.base.name} {artefact.base.hash}",
        "data": f"{data['name']} {data['version']} {data['hash']}; "
        + "; ".join(f"{split} {data[split]['cases']} cases of {data[split]['conversations']} conversations" for split in ("train", "dev")),
        "gate": "none" if gate is None else f"{gate['verdict']}, {gate['date']}" + _called(gate),
        **{f"{split}": told for split in ("train", "dev", "test") if (told := _figures(artefact, split))}, "note": artefact.note,
    }  # fmt: skip
    lines = [
        f"A prompt for {artefact.task}, tuned. Written by salience tune export; do not edit, it would no longer be what was scored.",
        "",
    ]
    if not artefact.passed:
        lines += [*_folded(f"REFUSED: it {_why_refused(artefact)}. Exported with --refused."), ""]
    for name, fact in facts.items():
        if fact:
            lines += textwrap.wrap(f"{name:<10} {ascii_line(fact)}", _WIDTH, subsequent_indent=" " * 11, break_on_hyphens=False)
    return [*lines, "", *_folded(_USER[artefact.task])]


def _called(gate: Mapping[str, Any]) -> str:
    called = f", may be called {gate['called']}" if gate.get("called") else ""
    return called + (", on test cases that had been opened before (reused)" if gate["reused"] else "")


def _figures(artefact: Artefact, split: str) -> str:
    tuned, base = artefact.figures(split), artefact.figures(split, f"base:{artefact.base.name}")
    told = []
    for name, bounds in tuned.items():
        before = f"{_figure(base[name])} -> " if name in base else ""
        told.append(f"{name} {before}{_figure(bounds)}")
    n = artefact.scores.get(split, {}).get("n")
    return (f"{n} cases; " if isinstance(n, int) else "") + ", ".join(told) if told else ""


def _figure(bounds: list[float | None]) -> str:
    return f"{numbers.share(bounds[0])} {numbers.interval(bounds[1], bounds[2])}".rstrip()


def _folded(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)


def _read_constants(text: str, where: str) -> dict[str, Any]:
    """Return the constants of a module that only assigns literals."""
    if len(text) > _MOST_CHARS:
        raise WorkbenchError(f"{where}: is longer than {_MOST_CHARS:,} characters, which no exported module is")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a foreign file's escapes
            body = ast.parse(text).body
        found: dict[str, Any] = {}
        for number, node in enumerate(body):
            if number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or target.id not in _NAMES or target.id in found:
                raise WorkbenchError(
                    f"{where}: line {node.lineno} is not what salience tune export writes: one assignment each of {', '.join(_NAMES)}"
                )
            found[target.id] = plain(target.id, ast.literal_eval(node.value), 200)
    except WorkbenchError as error:
        message = str(error)
        raise WorkbenchError(message if message.startswith(where) else f"{where}: {message}") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise WorkbenchError(f"{where}: is not a module of constants: {type(error).__name__}: {ascii_line(str(error))[:200]}") from None
    return found


def _head_of(constants: Mapping[str, Any], path: Path) -> list[dict[str, str]]:
    if ("PROMPT" in constants) == ("MESSAGES" in constants):
        raise WorkbenchError(f"{path}: must hold either PROMPT or MESSAGES")
    messages: Any = constants.get("MESSAGES", [{"role": "system", "content": constants.get("PROMPT")}])
    known = isinstance(messages, list) and all(isinstance(one, dict) and set(one) == {"role", "content"} for one in messages)
    if not known or not messages or not all(isinstance(text, str) for one in messages for text in one.values()):
        raise WorkbenchError(f"{path}: PROMPT must be a text, or MESSAGES an array of objects with role and content")
    return [dict(message) for message in messages]


def _rebuilt(constants: Mapping[str, Any], system: str, path: Path) -> AnyPolicy:
    """Return the policy of a module's constants with some system text. The files' own readers check all of it."""
    fields = {"SCHEMA": "schema", "DECODING": "decoding", "EXAMPLES_AS": "examples_as", "EXAMPLES": "examples"}
    content = {"schema_version": 1, "name": constants["NAME"], "system": system}
    if constants["TASK"] == "extraction":
        fields |= {"OPTIONS": "options", "THRESHOLD": "operating_threshold", "MAX_TURN_CHARS": "max_turn_chars"}
        if "CALIBRATION" in constants:
            content["calibration"] = {"kind": "piecewise", "points": constants["CALIBRATION"]}
    else:
        content["task"] = "consolidation"
    content |= {field: constants[name] for name, field in fields.items() if name in constants}
    if constants["TASK"] == "extraction":
        return for_extraction.policy_from_text(json.dumps(content), where=str(path), check_hash=False)
    policy: ConsolidationPolicy = for_consolidation.policy_from_dict(content, where=str(path), check_hash=False)
    return policy
