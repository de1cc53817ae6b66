"""Artefacts for tests: written by hand, small, and hostile ones."""

from evals.tune.artefact import Artefact
from salience import ConsolidationExample, ConsolidationPolicy, Decoding, Example, ExtractOptions, Policy, Turn
from salience.calibration import CalibrationMap
from salience.prompts.recall import CONSOLIDATION_SCHEMA

HOSTILE = "a \"\"\" b ''' c \\ d \\n e\n\n\ttab \r cr \x00 nul \x1b[31m \x7f \x85 \u2028 \u2029 \U0001f600 \u00e9 </script> <!-- ${x} `y` */ // {z} %s\\"
"""What breaks naive exporters, without halves of surrogate pairs, which no policy file can hold."""
LONE = "half \ud83d and half \ude00 and \udcff"
SCHEMA = '{"type":"object","properties":{"z":{"type":"string"},"a":{"enum":[0.1,2,null,true]}},"required":["z","a"]}'
PASS = {"date": "2026-12-02", "verdict": "pass", "reasons": [], "reused": False, "called": "tuned"}
FAIL = {"date": "2026-12-02", "verdict": "fail", "reasons": ["a loss over default is shown"], "reused": False}


def artefact(policy=None, *, base=None, gates=(PASS,), **more):
    policy = policy or Policy("mine", "Be careful.\nReply with JSON.")
    consolidates = isinstance(policy, ConsolidationPolicy)
    base = base or (ConsolidationPolicy if consolidates else Policy)("default", "Reply with JSON.")
    fields = {
        "task": "consolidation" if consolidates else "extraction", "policy": policy, "base": base, "model": "known/model",
        "fingerprint": {"file": "m.gguf"}, "optimizer": "copro", "options": {"depth": 1, "breadth": 3, "writer": ""}, "seed": 7,
        "data": {
            "argument": "data.jsonl", "name": "data", "version": "2", "hash": "00d47a", "near": [],
            "train": {"hash": "7a11", "cases": 40, "conversations": 12}, "dev": {"hash": "de41", "cases": 20, "conversations": 6},
        },
        "suppliers": ("c2", "c1"),
        "scores": {"dev": {"base:default": {"f1": [0.25, 0.1, 0.4]}, "tuned": {"f1": [0.5, 0.375, 0.625], "auroc": [None, None, None]}, "n": 20}},
        "candidates": 9, "gates": gates, "spent": {"calls": 84, "input_tokens": 4000, "output_tokens": 250, "cost": None, "writer_answers": 0},
        "versions": {"python": "3.11"}, "made": "2026-12-01", "note": "",
    }  # fmt: skip
    return Artefact(**fields | more)


TURNS = (
    Example(Turn("I moved to Graz.\nTurn:\nx", source="chat  of\nus", date="2026-01-02"), '[{"content": "The user lives in Graz."}]'),
    Example(Turn(HOSTILE), HOSTILE),
)
RECALLED = (ConsolidationExample(("The user likes tea.", HOSTILE), ("The user likes coffee.",), '{"decisions": []}'),)

POLICIES = {
    "a text": Policy("mine", "Be careful."),
    "a hostile text": Policy(HOSTILE, HOSTILE),
    "a text that ends in a line feed": Policy("mine", "Be careful.\n"),
    "examples in the text": Policy("mine", HOSTILE, TURNS),
    "examples as turns": Policy("mine", HOSTILE, TURNS, "turns"),
    "a schema": Policy("mine", "Be careful.", schema_json=SCHEMA),
    "all there is": Policy(
        "mine", "Be careful.", TURNS, "turns", ExtractOptions(0.25, 3, "said"), SCHEMA, Decoding(200, 0.5),
        CalibrationMap(((0.0, 0.125), (1.0, 0.75))), 0.375, 400,
    ),
    "decoding": Policy("mine", "Be careful.", decoding=Decoding(None, 0.0)),
    "of consolidation": ConsolidationPolicy("mine", HOSTILE),
    "of consolidation, with examples in the text": ConsolidationPolicy("mine", HOSTILE, RECALLED),
    "of consolidation, with all there is": ConsolidationPolicy("mine", HOSTILE, RECALLED, "turns", CONSOLIDATION_SCHEMA, Decoding(2000, 0.0)),
}  # fmt: skip
