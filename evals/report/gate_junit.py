"""A gate's verdict as JUnit XML: one test a check. An inconclusive check is skipped, as it says neither yes nor no."""

from __future__ import annotations

from xml.etree import ElementTree

from evals.compare import Comparison
from evals.gate import Verdict
from evals.report.safe import printable


def gate_junit(comparison: Comparison, verdict: Verdict) -> str:
    """Return the verdict as JUnit XML.

    Args:
        comparison: Of base and new row.
        verdict: What the gate says; where an inconclusive gate counts as "fail", its inconclusive checks are failures.
    """
    failing = {"fail"} | ({"inconclusive"} if verdict.ruling == "fail" else set())
    kinds = ["failure" if one.ruling in failing else "skipped" if one.ruling == "inconclusive" else "" for one in verdict.checks]
    counts = {"tests": len(kinds), "failures": kinds.count("failure"), "errors": 0, "skipped": kinds.count("skipped")}
    suite = ElementTree.Element("testsuite", {"name": printable(f"gate {comparison.new.label}"), **{k: str(v) for k, v in counts.items()}})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("base", comparison.base.signature), ("new", comparison.new.signature), ("verdict", verdict.words)):
        ElementTree.SubElement(properties, "property", {"name": name, "value": printable(str(value))})
    for check, kind in zip(verdict.checks, kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", {"name": printable(check.name), "classname": "salience.gate"})
        if kind:
            ElementTree.SubElement(case, kind, {"message": printable(check.told)})
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
