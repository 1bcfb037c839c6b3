"""Orders: what a run should observe. Written for the runtime, and read again to judge its evidence."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchlint.base import inputs
from torchlint.base.version import __version__
from torchlint.confirm.places import marks_of, real
from torchlint.confirm.probes import PROBES
from torchlint.confirm.stored import NotStored, keep, stored
from torchlint.confirm.stored_types import StoredOrder, StoredReport
from torchlint.model import Edit, Evidence, Finding, Fix, Heat, Recipe, Safety, Severity, Span

SCHEMA = 1
NAME = "order.json"
_ACCELERATED = re.compile(rb"cuda|accelerat|device|mps|xpu")


class OrderProblem(Exception):
    """An order cannot be made or read; a one-line message with the file and advice."""


@dataclass(frozen=True)
class Order:
    """What to observe. Findings and recipes have the same names; files are real paths with their SHA-256.

    The recipe is None for a finding of a rule without one. ``lint`` means that the files have not been linted yet;
    ``switch`` that two forms of a file are compared. ``profile_steps`` are the steps to profile on a GPU. ``reported``
    says that the findings are those of a report, which alone are judged. ``shown`` are the names of findings that only
    the run has shown; they are not written.
    """

    directory: str
    base: str
    script: str | None
    module: str | None
    arguments: tuple[str, ...]
    findings: Mapping[str, Finding]
    recipes: Mapping[str, Recipe | None]
    files: Mapping[str, str]
    mode: str = "auto"
    steps: int | None = None
    seconds: float | None = None
    devices: int = 1
    profile_steps: int = 5
    cache: str | None = None
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    switch: Mapping[str, Any] | None = None
    lint: bool = False
    reported: bool = False
    shown: frozenset[str] = frozenset()

    @property
    def program(self) -> str:
        """The program as the user named it."""
        return self.script or f"-m {self.module}"


def digest(path: str) -> str | None:
    """The SHA-256 of a file; None if it cannot be read."""
    try:
        return _digest(inputs.read(path, inputs.REPORT))
    except (OSError, ValueError):
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(order: Order) -> str:
    """Write an order into its existing directory; returns the path of the file."""
    recipes = {name: recipe for name, recipe in order.recipes.items() if recipe is not None}
    notes = {name: probe.notes for name, recipe in recipes.items() if (probe := PROBES.get(recipe.probe))}
    document = {
        "schema": SCHEMA,
        "torchlint": __version__,
        "run": order.run,
        "directory": order.directory,
        "base": order.base,
        "script": order.script,
        "module": order.module,
        "arguments": list(order.arguments),
        "mode": order.mode,
        "steps": order.steps,
        "seconds": order.seconds,
        "devices": order.devices,
        "profile_steps": order.profile_steps,
        "cache": order.cache,
        "roots": _roots(order),
        "accelerated": any(_mentions(path) for path in order.files),
        "files": dict(order.files),
        "marks": marks_of({name: order.findings[name] for name in recipes}, order.base, notes),
        "functions": sorted({function for recipe in recipes.values() for function in recipe.functions}),
        "switch": order.switch,
        "reported": order.reported,
        "findings": {name: _written(finding) for name, finding in order.findings.items()},
        "recipes": {name: recipe and recipe._asdict() for name, recipe in order.recipes.items()},
    }
    target = os.path.join(order.directory, NAME)
    keep(target, document)
    return target


def _roots(order: Order) -> list[str]:
    return sorted({os.path.dirname(path) for path in order.files} | {order.base})


def _mentions(path: str) -> bool:
    try:
        return _ACCELERATED.search(inputs.read(path, inputs.REPORT)) is not None
    except OSError:
        return False


def read(directory: str) -> Order:
    """Read the order for which evidence was recorded. Raises :class:`OrderProblem`."""
    path = os.path.join(directory, NAME)
    try:
        document = stored(path, StoredOrder, SCHEMA)
        if document["findings"].keys() != document["recipes"].keys():
            raise NotStored("is damaged")
    except NotStored as reason:
        advice = "give the folder that `confirm --evidence` wrote, or record the evidence again"
        raise OrderProblem(f"{path}: {reason}; {advice}") from None
    return _order(document, os.path.abspath(directory))


def _order(document: Mapping[str, Any], directory: str) -> Order:
    return Order(
        directory=directory,
        base=document["base"],
        script=document["script"],
        module=document["module"],
        arguments=tuple(document["arguments"]),
        mode=document["mode"],
        findings={name: finding_of(values) for name, values in document["findings"].items()},
        recipes={name: values and _recipe(values) for name, values in document["recipes"].items()},
        files=dict(document["files"]),
        steps=document["steps"],
        seconds=document["seconds"],
        devices=document["devices"],
        cache=document["cache"],
        run=document["run"],
        switch=document["switch"],
        lint=document.get("lint", False),
        reported=document.get("reported", False),
    )


def _recipe(values: Mapping[str, Any]) -> Recipe:
    flags = tuple((flag, bool(value)) for flag, value in values["flags"])
    plain = {key: values[key] for key in Recipe._fields if key not in ("flags", "functions")}
    return Recipe(**plain, flags=flags, functions=tuple(values.get("functions", ())))


def stale(order: Order, kept: Mapping[str, bytes]) -> str | None:
    """A file that is neither what it was when it was linted, nor kept in the evidence; None if there is none."""
    return next((path for path in changed(order) if _digest(kept.get(path, b"")) != order.files[path]), None)


def changed(order: Order) -> list[str]:
    """The files that have changed since the evidence was recorded, or are gone."""
    return [path for path, wanted in order.files.items() if digest(path) != wanted]


# -- findings as data ----------------------------------------------------------------------------


def _written(finding: Finding) -> dict[str, Any]:
    """A finding with the keys of the JSON report."""
    from torchlint.report.json import finding_document

    return finding_document(finding, {})


def read_findings(path: str, base: str) -> list[Finding]:
    """The findings of a JSON report, without those in notebooks, which are no programs.

    Raises :class:`OrderProblem`.
    """
    try:
        document = stored(path, StoredReport, SCHEMA)
    except NotStored as reason:
        raise OrderProblem(f"{path}: {reason}; write it with `torchlint --output-format json`") from None
    every = document["findings"]
    findings = [values for values in every if values["cell"] is None]
    if every and not findings:
        raise OrderProblem(
            f"{path}: all findings are in notebooks, which are not programs; convert and lint these first"
        )
    return [finding_of(values) for values in findings if os.path.isfile(real(values["path"], base))]


def finding_of(values: Mapping[str, Any]) -> Finding:
    """A finding from the keys of the JSON report."""
    fix = values["fix"]
    return Finding(
        rule=values["rule"],
        name=values["name"],
        topic=values["topic"],
        severity=Severity(values["severity"]),
        path=values["path"],
        span=_span(values),
        message=values["message"],
        heat=Heat(values["heat"]) if values["heat"] else None,
        evidence=tuple(_evidence(e) for e in values["evidence"]),
        fix=Fix(fix["title"], Safety(fix["safety"]), _edits(fix["edits"]), fix["caveat"]) if fix else None,
        cell=values["cell"],
        fingerprint=values["fingerprint"],
    )


def _evidence(values: Mapping[str, Any]) -> Evidence:
    return Evidence(values["line"], values["column"], values["text"], context=values.get("context", False))


def _edits(edits: Sequence[Mapping[str, Any]]) -> tuple[Edit, ...]:
    return tuple(Edit(_span(edit), edit["text"]) for edit in edits)


def _span(values: Mapping[str, Any]) -> Span:
    return Span(values["line"], values["column"], values["end_line"], values["end_column"])
