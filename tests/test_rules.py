"""Every rule: well-formed, with true examples, and never lost by screening."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import harness
from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import Safety
from torchlint.rule import Rule, info, problems, topic_of
from torchlint.run import registry, session
from torchlint.run.fixer import fix_text
from torchlint.run.session import plan

RULES = registry.load()
each_rule = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])


@each_rule
def test_a_rule_is_well_formed(rule: type[Rule]) -> None:
    assert problems(rule) == []
    *_, folder, module = rule.__module__.split(".")
    assert module == rule.name.replace("-", "_"), "the module is not named after the rule"
    assert folder == topic_of(rule.id), "the folder of the module is not the topic of the rule's id"
    assert not rule.summary.endswith(".")


@each_rule
def test_a_rule_has_a_fixture(rule: type[Rule]) -> None:
    assert rule.name in harness.folders(), f"there is no folder fixtures/{rule.name}"


@each_rule
def test_of_the_examples_the_first_is_found_and_the_second_is_not(rule: type[Rule]) -> None:
    guilty, preferred, *_ = examples(rule)
    config = Config(select=(rule.id,))
    assert lint_source(guilty, "example.py", config).findings
    assert not lint_source(preferred, "example.py", config).findings


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fix != "never"], ids=lambda rule: rule.name)
def test_of_the_examples_the_fix_makes_one_of_the_others_of_the_first(rule: type[Rule]) -> None:
    guilty, *shown = examples(rule)
    made = [
        fix_text(guilty.encode(), "example.py", plan(Config(select=select, rules=options)), Safety.UNSAFE)[0]
        for select in ((rule.id,), Config().select)
        for _, options in harness.variants().values()
    ]
    advised = [fixed for fixed in made if without_imports(fixed.decode()) in map(without_imports, shown)]
    assert advised, f"the fix makes of the first example:\n{made[0].decode()}"
    assert not lint_source(advised[0], "example.py", Config(select=(rule.id,))).findings


def examples(rule: type[Rule]) -> list[str]:
    """The Python examples under "Instead": what is flagged, and what is preferred."""
    _, _, section = info(rule).documentation.partition("## Instead")
    found = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    assert len(found) >= 2, 'under "Instead" there must be an example that is flagged and one that is not'
    return found


def without_imports(text: str) -> list[str]:
    """The lines other than imports: an unused import of NumPy may be left over."""
    return [line for line in text.split("\n") if line and not line.startswith(("import ", "from "))]


@pytest.mark.parametrize("path", harness.files(), ids=lambda p: str(p.relative_to(harness.FIXTURES)))
def test_no_shortcut_changes_a_result(path: object) -> None:
    assert isinstance(path, Path)
    data = path.read_bytes()
    plan = session.plan(Config(root=str(harness.ROOT)))
    everything = plan._replace(exhaustive=True).analyse(data, str(path))
    found = plan.analyse(data, str(path))
    assert found.result == everything.result
    assert found.facts == everything.facts
