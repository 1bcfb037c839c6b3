"""``torch.Tensor`` under observation beside the plain class: whatever a program asks of it, the answers are equal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests import companion_help, patched_tensors

ROOT = Path(__file__).parents[1]
MODES = ("cpu", "sim", "gpu")
# Dynamo does not trace under a dispatch mode, and the simulation is one: what is compiled runs as it is.
UNTRACED = frozenset(("compiled", "compiled indexing", "compiled moves", "compiled module", "graphs"))


@cache
def found(mode: str) -> dict[str, Any]:
    """Everything that is asked, in a process of its own: slots of a type that were filled once may stay so."""
    done = companion_help.warm_run(ROOT, "-m", "tests.patched_tensors", mode)
    assert done.returncode == 0, done.stderr
    answered: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answered


def answers(mode: str, names: Iterable[str]) -> dict[str, Any]:
    return {name: found(mode)["cases"][name] for name in names}


@pytest.mark.parametrize("mode", MODES)
def test_a_program_gets_the_same_answers_of_tensors_under_observation(mode: str) -> None:
    names = {*patched_tensors.CASES} - (UNTRACED if mode == "sim" else frozenset())
    wanted = answers("plain", names)
    assert {name: answer for name, answer in answers(mode, names).items() if answer != wanted[name]} == {}


def test_what_is_compiled_computes_the_same_on_the_simulated_device() -> None:
    names = UNTRACED - {"graphs"}
    results = [{name: answer[1:3] for name, answer in answers(mode, names).items()} for mode in ("plain", "sim")]
    assert results[0] == results[1]


@pytest.mark.parametrize("mode", MODES)
def test_no_slot_of_the_type_is_filled_that_is_empty_in_the_plain_one(mode: str) -> None:
    assert found(mode)["filled"] == found("plain")["filled"]


@pytest.mark.parametrize("mode", MODES)
def test_the_type_and_torch_are_as_before_when_the_observation_has_ended(mode: str) -> None:
    attributes, registries, *slots = found(mode)["restored"]
    assert attributes
    assert registries
    assert all(slots)


@pytest.mark.parametrize("mode", MODES)
def test_all_that_is_replaced_is_compared(mode: str) -> None:
    assert {*found(mode)["replaced"]} <= {*patched_tensors.METHODS, *patched_tensors.PROPERTIES}


def test_cases_do_not_fail_for_want_of_names() -> None:
    texts = [answer for answer in found("plain")["cases"].values() if isinstance(answer, str)]
    assert not [text for text in texts if text.startswith(("NameError", "UnboundLocalError", "Internal"))]
