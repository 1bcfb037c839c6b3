"""JUnit XML, for servers that show test results.

Errors and warnings are failed tests. An info is advice and never fails a run, so it is a passed test with output.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from torchlint.model import Finding, Problem, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.observed import seen_lines
from torchlint.report.shared import evidence_lines, file_lines, plural
from torchlint.text.visible import escaped, visible_lines, without_commands

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def render(run: RunResult, options: ReportOptions) -> str:
    """A suite for each file with findings or problems; a run without any is one passed test."""
    from xml.etree import ElementTree as Xml

    root = Xml.Element("testsuites", name="torchlint")
    cases: list[Finding | Problem] = sorted([*run.findings, *run.problems], key=lambda case: case.path)
    for path, group in groupby(cases, lambda case: case.path):
        suite = Xml.SubElement(root, "testsuite", name=escaped(path))
        for case in group:
            _finding(suite, case, options) if isinstance(case, Finding) else _problem(suite, case)
    if not cases:
        suite = Xml.SubElement(root, "testsuite", name="torchlint")
        Xml.SubElement(suite, "testcase", name=f"{plural(run.files, 'file')} checked", classname="torchlint")
    for element in (*root, root):
        _count(element)
    Xml.indent(root)
    text = without_commands(Xml.tostring(root, encoding="unicode"), "&#35;")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n"


def _finding(suite: Element, finding: Finding, options: ReportOptions) -> None:
    span = finding.span
    cell = f"cell {finding.cell}:" if finding.cell is not None else ""
    name = f"{escaped(finding.rule)} {escaped(finding.name)} ({cell}{span.line}:{span.column})"
    where = f"{cell.replace(':', ', ')}line {span.line}, column {span.column}"
    lines = [f"{where}: {' '.join(visible_lines(finding.message))}"]
    lines += [*evidence_lines(finding.evidence), *map(escaped, seen_lines(finding))]
    text = "\n".join(lines)
    case = _case(suite, name, finding.path, file_lines(finding, options)[0])
    if finding.severity is Severity.INFO:
        _child(case, "system-out", text)
    else:
        message = escaped(finding.message)
        _child(case, "failure", text, message=message, type=finding.severity.value)


def _problem(suite: Element, problem: Problem) -> None:
    case = _case(suite, "torchlint", problem.path, problem.line)
    message = escaped(problem.message)
    _child(case, "error", message, message=message, type="problem")


def _case(suite: Element, name: str, path: str, line: int | None) -> Element:
    where = {} if line is None else {"line": str(line)}
    return _child(suite, "testcase", None, name=name, classname=escaped(path), file=escaped(path), **where)


def _child(parent: Element, tag: str, text: str | None, **attributes: str) -> Element:
    from xml.etree import ElementTree as Xml

    child = Xml.SubElement(parent, tag, attributes)
    child.text = text
    return child


def _count(element: Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(name, str(len(element.findall(f".//{tag}"))))
