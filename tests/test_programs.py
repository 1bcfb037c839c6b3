"""Scripted programs, run on the simulated GPU: every verdict of every rule that has one.

A mark ``# TL101 confirmed "words"`` at the end of a line is the verdict that the finding of that rule on that line must
get, with these words in its reason. Programs of one rule stand in ``fixtures/<rule>/programs``, those of several here.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import harness
from tests.companion_help import warm_run
from tests.representatives import first_of_each_kind, parameters
from torchlint.confirm.probes import PROBES
from torchlint.run.rules import registry

HERE = Path(__file__).parent
PROGRAMS = sorted([*(HERE / "programs").glob("*.py"), *harness.FIXTURES.glob("*/programs/*.py")])
_MARK = re.compile(r'# (TL\d{3}) (confirmed|refuted|not reached|unknown)((?: "[^"]*")+)$')
_BATCH = 24


@cache
def verdicts(batch: tuple[Path, ...]) -> dict[str, list[dict[str, Any]]]:
    """The verdicts of programs, which are run in one process."""
    pytest.importorskip("torch")
    done = warm_run(HERE.parent, "-m", "tests.programs_runner", *map(str, batch))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def marks(path: Path) -> list[tuple[int, str, str, list[str]]]:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = _MARK.search(line)
        if mark:
            found.append((number, mark[1], mark[2], re.findall(r'"([^"]*)"', mark[3])))
    return found


def shown(path: Path) -> set[object]:
    """What a program shows: rules, and verdicts of their probes."""
    probes = {rule.id: rule.recipe.probe for rule in registry.load() if rule.recipe is not None}
    return {kind for _, rule, status, _ in marks(path) for kind in (rule, (probes.get(rule), status))}


CHOSEN = first_of_each_kind(PROGRAMS, shown)
BATCHES = [
    tuple(paths[start : start + _BATCH])
    for paths in (CHOSEN, [path for path in PROGRAMS if path not in CHOSEN])
    for start in range(0, len(paths), _BATCH)
]


@pytest.mark.slow
@pytest.mark.parametrize("path", parameters(PROGRAMS, CHOSEN), ids=[path.stem for path in PROGRAMS])
def test_a_program_gets_the_verdicts_that_it_is_marked_with(path: Path) -> None:
    given = verdicts(next(batch for batch in BATCHES if path in batch))[str(path)]
    expected = marks(path)
    assert expected, f'{path.name} has no mark of the form # TL199 confirmed "words of the reason"'
    for line, rule, status, words in expected:
        where = f"{path.name}:{line}: {rule}"
        found = [verdict for verdict in given if (verdict["rule"], verdict["line"]) == (rule, line)]
        assert len(found) == 1, f"{where}: expected a verdict, got those on {[(v['rule'], v['line']) for v in given]}"
        assert found[0]["status"] == status, f"{where}: {found[0]['status']}: {found[0]['reason']}"
        for word in words:
            assert word in found[0]["reason"], f"{where}: {found[0]['reason']}"


def test_every_rule_with_a_recipe_has_programs_that_confirm_it_and_that_do_not() -> None:
    seen: dict[str, set[str]] = {}
    for path in PROGRAMS:
        for _, rule, status, _ in marks(path):
            seen.setdefault(rule, set()).add(status)
    for known in registry.load():
        if known.recipe is None or not PROBES[known.recipe.probe].decides:
            continue
        wanted = {"confirmed"} if PROBES[known.recipe.probe].confirms else {"refuted"}
        found = seen.get(known.id, set())
        assert wanted < found, f"{known.id}: programs need {wanted} and another verdict, and get {sorted(found)}"


def test_every_recipe_names_a_probe_and_its_flags() -> None:
    for rule in registry.load():
        recipe = rule.recipe
        if recipe is None:
            continue
        assert recipe.probe in PROBES, f"{rule.id}: {recipe.probe} is none of {', '.join(PROBES)}"
        assert recipe.functions or recipe.probe != "function-calls", f"{rule.id}: the recipe names no functions"
        assert recipe.span in ("finding", "evidence", "run")
        assert (recipe.span == "run") == PROBES[recipe.probe].everywhere, rule.id
