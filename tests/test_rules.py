"""Every rule: well-formed, with true examples, and never lost by screening."""

from __future__ import annotations

import pytest

from torchlint.rule import Rule, topic_of
from torchlint.run.rules import registry
from torchlint.testing import RuleTests

RULES = registry.load()
each_rule = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])


@each_rule
def test_a_rule_is_where_its_name_and_id_say(rule: type[Rule]) -> None:
    *_, folder, module = rule.__module__.split(".")
    assert module == rule.name.replace("-", "_"), "the module is not named after the rule"
    assert folder == topic_of(rule), "the folder of the module is not the topic of the rule's id"
    assert not rule.summary.endswith(".")


class TestRules(RuleTests):
    """What is asked of rules of other packages as well, and more code in fixtures than there."""

    least_flagged = 12
    least_innocent = 15
