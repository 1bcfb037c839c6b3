"""A safe fix changes nothing that a run shows: generated programs of each rule, and what generation has found."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from hypothesis import HealthCheck, Phase, assume, given, settings

from tests.differential import case
from tests.differential.campaign import Campaign, run, shown
from tests.differential.case import Case, Verdict, judged
from tests.differential.strategies import STRATEGIES
from torchlint.run.rules import registry

FIXTURES = Path(__file__).parents[2] / "fixtures"
# How many programs of each rule are repaired; a release runs 5,000.
PROGRAMS = pytest.mark.parametrize("programs", [50, pytest.param(300, marks=pytest.mark.exhaustive)])


@PROGRAMS
@pytest.mark.parametrize("rule", STRATEGIES)
def test_a_safe_fix_of_a_generated_program_changes_nothing_that_a_run_shows(rule: str, programs: int) -> None:
    known: dict[str, Verdict] = {}  # Hypothesis draws many programs several times

    @settings(
        max_examples=programs,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(STRATEGIES[rule])
    def trial(drawn: Case) -> None:
        name = repr(drawn)
        verdict = known[name] = known.get(name) or judged(drawn)
        assume(verdict.repaired)
        assert not verdict.differences, shown(drawn, verdict)

    trial()


def test_a_fix_that_changes_something_is_found() -> None:
    """The judge can fail: of a fix that is wrong on purpose it names what a run shows otherwise."""
    text = "import torch\n\n\ndef run(x):\n    return torch.zeros(2), [x]\n"
    wrong = {
        "torch.ones(2)": "result",
        "torch.zeros(2, dtype=torch.float64)": "result",
        "torch.zeros(2, 1).t()[0]": None,
        "x.zero_()[:2]": "result after the sources were written to",
        "torch.rand(2) * 0": "torch generator",
        "torch.zeros(-1)": "exception",
        "torch.zeros(4)[::2]": "result",
        "torch.zeros(2, requires_grad=True)": "gradients",
    }
    with pytest.MonkeyPatch.context() as patch:
        for instead, name in wrong.items():
            patch.setattr(case, "fixed", lambda text, _, instead=instead: text.replace("torch.zeros(2)", instead))
            found = judged(Case("TL104", text, {"x": "tensor"})).differences
            assert (name in found) if name else not found, instead


def test_every_rule_with_safe_fixes_has_a_strategy() -> None:
    """Safe fixes change a fixture of their rule, as its golden files show."""
    golden = {rule.id: (FIXTURES / rule.name).glob("cases*.fixed.py") for rule in registry.core()}
    fixed = {rule for rule, files in golden.items() if any(map(_is_changed, files))}
    assert fixed
    assert not fixed - set(STRATEGIES)


def _is_changed(golden: Path) -> bool:
    return golden.read_bytes() != golden.with_name(golden.name.replace(".fixed", "")).read_bytes()


@pytest.mark.parametrize("rule", STRATEGIES)
def test_the_fix_of_the_rule_itself_is_reached(rule: str) -> None:
    """Programs are linted for their rule alone, so what is repaired is repaired by it; TL001 judges other rules."""
    campaign = run(rule, programs=20, seed=4)
    assert campaign.repaired == 20
    assert campaign.repaired >= campaign.generated / 20


def test_a_campaign_counts_what_was_repaired() -> None:
    campaign = Campaign("TL104")
    for made in ("1", "torch.zeros(3).cuda()"):
        drawn = Case("TL104", f"import torch\n\n\ndef run():\n    return {made}\n", cuda=True)
        assert campaign.tried(drawn) == ("zeros" in made)
    assert str(campaign) == "TL104: 1 programs repaired (50% of 2 generated), 0 changed by it"
