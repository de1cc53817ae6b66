"""A gate's verdict as JUnit XML: one test a check, and an error for every case that the new row did not complete.

An inconclusive check says neither yes nor no: it is skipped, and a failure only where an inconclusive gate counts as failed. Of the
verdict as a whole the properties tell, as test runners know no third ruling.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from evals.compare import Comparison
from evals.gate import Verdict
from evals.report.safe import printable

_Test = tuple[str, str, str]
"""Name, what came of it ("failure", "error", "skipped", "" for a pass), and why."""


def gate_junit(comparison: Comparison, verdict: Verdict) -> str:
    """Return the verdict as JUnit XML.

    Args:
        comparison: Of base and new row.
        verdict: What the gate says; where an inconclusive gate counts as "fail", its inconclusive checks are failures.
    """
    kinds = {"fail": "failure", "inconclusive": "failure" if verdict.counted_as == "fail" else "skipped", "pass": ""}
    tests = [(check.name, kinds[check.ruling], check.told) for check in verdict.checks]
    tests += [(f"case {name}", "error", f"the new row did not complete the case: {why}") for name, why in comparison.new.left_out.items()]
    properties = {
        "base": str(comparison.base.signature), "new": str(comparison.new.signature), "verdict": verdict.words, "ruling": verdict.ruling,
        "found": verdict.found, "exit_code": str(verdict.exit_code),
    }  # fmt: skip
    return _suite(f"gate {comparison.new.label}", tests, properties)


def refusal_junit(name: str, told: str, exit_code: int) -> str:
    """Return what stands in the place of a verdict where a gate ruled on nothing: a suite with one error.

    Args:
        name: What was to be gated, as it was named.
        told: Why nothing was ruled.
        exit_code: What the command ends with.
    """
    return _suite(f"gate {name}", [("verdict", "error", told)], {"verdict": f"NO VERDICT: {told}", "exit_code": str(exit_code)})


def _suite(name: str, tests: Iterable[_Test], properties: dict[str, str]) -> str:
    tests = list(tests)
    kinds = [kind for _, kind, _ in tests]
    counts = {"tests": len(kinds), "failures": kinds.count("failure"), "errors": kinds.count("error"), "skipped": kinds.count("skipped")}
    suite = ElementTree.Element("testsuite", {"name": printable(name), **{key: str(value) for key, value in counts.items()}})
    told = ElementTree.SubElement(suite, "properties")
    for key, value in properties.items():
        ElementTree.SubElement(told, "property", {"name": key, "value": printable(value)})
    for test, kind, why in tests:
        case = ElementTree.SubElement(suite, "testcase", {"name": printable(test), "classname": "salience.gate"})
        if kind:
            ElementTree.SubElement(case, kind, {"message": printable(why)})
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
