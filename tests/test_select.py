"""Selectors: which rules are on."""

from __future__ import annotations

import pytest

import torchlint
from torchlint.base.pages import Page
from torchlint.config.config import Config, ConfigError
from torchlint.config.select import check, chosen, ignored_for, selected, selectors
from torchlint.groups import GROUPS
from torchlint.model import RuleInfo, Severity
from torchlint.retired import why_retired


def rule(rule_id: str, name: str, *, default: bool = True, **facts: object) -> RuleInfo:
    made = RuleInfo(rule_id, name, "", Severity.WARNING, "", default, "never", "0.1.0", Page("", ""), "")
    return made._replace(**facts)  # type: ignore[arg-type]


RULES = [
    rule("TL101", "tensor-copies-ndarray"),
    rule("TL102", "list-of-ndarrays"),
    rule("TL201", "device-round-trip"),
    rule("TL402", "loader-single-process", default=False),
]
ALWAYS = {"TL000"}


def on(**settings: tuple[str, ...]) -> set[str]:
    return set(chosen(RULES, Config()._replace(**settings))) - ALWAYS  # type: ignore[arg-type]


def test_the_default_rules_are_on() -> None:
    assert on() == {"TL001", "TL101", "TL102", "TL201"}


def test_select_replaces_the_default() -> None:
    assert on(select=("TL101",)) == {"TL101"}
    assert on(select=()) == set()


@pytest.mark.parametrize("selector", ["TL1", "TL10", "copies"])
def test_topics_and_prefixes_select_their_rules(selector: str) -> None:
    assert on(select=(selector,)) == {"TL101", "TL102"}


def test_the_former_spelling_of_a_topic_selects_and_configures_its_rules() -> None:
    reads = [rule("TL301", "sync-in-hot-loop"), rule("TL401", "loader-not-pinned")]
    check(["synchronisation"], reads, "--select")
    assert chosen(reads, Config()._replace(select=("synchronisation",))) - ALWAYS == {"TL301"}
    assert "synchronisation" not in selectors(reads)
    with pytest.raises(ConfigError, match="did you mean 'synchronization'"):
        check(["synchronizations"], reads, "--select")


def test_names_select_as_ids_do() -> None:
    assert on(select=("device-round-trip",)) == on(select=("TL201",)) == {"TL201"}


@pytest.mark.parametrize("selector", ["ALL", "TL"])
def test_all_selects_what_is_off_by_default_too(selector: str) -> None:
    assert on(select=(selector,)) == {"TL001", "TL101", "TL102", "TL201", "TL402"}


def test_extend_select_adds() -> None:
    assert on(extend_select=("TL402",)) == on() | {"TL402"}
    assert on(select=("TL201",), extend_select=("loading",)) == {"TL201", "TL402"}


def test_ignore_removes() -> None:
    assert on(ignore=("copies",)) == {"TL001", "TL201"}
    assert on(ignore=("ALL",)) == set()
    assert on(ignore=("TL001",)) == on() - {"TL001"}


def test_the_more_specific_selector_wins() -> None:
    assert on(select=("TL101",), ignore=("TL1",)) == {"TL101"}
    assert on(select=("copies",), ignore=("TL101",)) == {"TL102"}
    assert on(select=("TL10",), ignore=("copies",)) == {"TL101", "TL102"}
    assert on(select=("ALL",), ignore=("TL1",)) == {"TL001", "TL201", "TL402"}


def test_ignore_wins_a_tie() -> None:
    assert on(select=("TL101",), ignore=("tensor-copies-ndarray",)) == set()


def test_syntax_errors_cannot_be_turned_off() -> None:
    assert "TL000" in chosen(RULES, Config(select=(), ignore=("TL000", "ALL")))
    assert ignored_for("a.py", Config(per_file_ignores=(("*.py", ("ALL",)),)), RULES) >= {"TL001", "TL101"}
    assert "TL000" not in ignored_for("a.py", Config(per_file_ignores=(("*.py", ("TL000",)),)), RULES)


@pytest.mark.parametrize("key", ["select", "extend_select", "ignore"])
def test_an_unknown_selector_is_an_error_with_the_nearest(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^conf\.toml: {key.replace('_', '-')}: no rule .* 'TL111'.* TL10"):
        chosen(RULES, Config(source="conf.toml")._replace(**{key: ("TL111",)}))  # type: ignore[arg-type]


def test_an_unknown_selector_of_a_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"per-file-ignores at '\*\.py': there is no .* 'copys'; .* mean 'copies'"):
        chosen(RULES, Config(per_file_ignores=(("*.py", ("copys",)),)))


def test_where_nothing_is_near_the_list_is_named() -> None:
    with pytest.raises(ConfigError, match=r"--select: there is no .* 'E501'; `torchlint rules` lists them"):
        check(["E501"], RULES, "--select")


PURPOSES = [
    *RULES,
    rule("TL202", "blocking-transfer", fix="sometimes"),
    rule("TL404", "workers-not-persistent", fix="always", severity=Severity.INFO, programs=("training",)),
    rule("TL701", "hardcoded-cuda", fix="sometimes", severity=Severity.ERROR, programs=()),
    rule("TL806", "eval-without-no-grad", programs=("inference",)),
]


@pytest.mark.parametrize(
    ("preset", "others"),
    [
        ("recommended", {"TL101", "TL102", "TL201", "TL202", "TL404", "TL701", "TL806"}),
        ("strict", {"TL101", "TL102", "TL201", "TL202", "TL404", "TL701", "TL806"}),
        ("training", {"TL101", "TL102", "TL201", "TL202", "TL404"}),
        ("inference", {"TL101", "TL102", "TL201", "TL202", "TL806"}),
        ("ci", {"TL202", "TL701"}),
    ],
)
def test_presets_follow_from_facts(preset: str, others: set[str]) -> None:
    assert chosen(PURPOSES, Config(select=(preset,))) - ALWAYS == {"TL001", *others}
    assert {each.id for each in selected([preset], PURPOSES)} == others


def test_a_preset_is_less_specific_than_a_topic_and_more_than_all() -> None:
    assert chosen(PURPOSES, Config(select=("copies",), ignore=("training",))) - ALWAYS == {"TL101", "TL102"}
    assert chosen(PURPOSES, Config(select=("ALL",), ignore=("recommended",))) - ALWAYS == {"TL402"}
    assert ignored_for("a.py", Config(per_file_ignores=(("*.py", ("ci",)),)), PURPOSES) == {"TL001", "TL202", "TL701"}


ADVICE = """\
import torch

class Model(torch.nn.Module):
    def forward(self, images):
        return images + torch.tensor([0] * images.size(0)).to(images.device)
"""


def test_strict_makes_warnings_of_infos() -> None:
    def severities(*select: str) -> list[Severity]:
        return [finding.severity for finding in torchlint.lint_source(ADVICE, config=Config(select=select)).findings]

    assert severities("recommended") == [Severity.INFO]
    assert severities("strict") == severities("TL103", "strict") == [Severity.WARNING]


@pytest.mark.parametrize(
    ("table", "severity"),
    [
        ({"TL202": "error"}, Severity.INFO),
        ({"TL103": "error"}, Severity.ERROR),
        ({"python-data-factory": "warning"}, Severity.WARNING),
        ({"copies": "error", "ALL": "warning"}, Severity.ERROR),
        ({"TL1": "warning", "TL103": "info", "copies": "error"}, Severity.INFO),
        ({"copies": "error", "TL1": "warning"}, Severity.WARNING),
    ],
)
def test_the_most_specific_selector_gives_the_severity(table: dict[str, str], severity: Severity) -> None:
    given = tuple((selector, Severity(each)) for selector, each in table.items())
    found = torchlint.lint_source(ADVICE, config=Config(severity=given)).findings
    assert [(finding.rule, finding.severity) for finding in found] == [("TL103", severity)]


def test_a_severity_is_stronger_than_the_preset_strict() -> None:
    config = Config(select=("strict",), severity=(("TL103", Severity.INFO),))
    assert [finding.severity for finding in torchlint.lint_source(ADVICE, config=config).findings] == [Severity.INFO]


def test_code_that_is_not_valid_python_is_always_an_error() -> None:
    config = Config(severity=(("ALL", Severity.INFO),))
    (finding,) = torchlint.lint_source("import torch\ndef f(:\n", config=config).findings
    assert (finding.rule, finding.severity) == ("TL000", Severity.ERROR)
    for selector in ("TL000", "syntax-error"):
        with pytest.raises(ConfigError, match="invalid Python is always an error; remove"):
            chosen(RULES, Config(severity=((selector, Severity.INFO),)))


def test_a_severity_of_no_rule_is_an_error() -> None:
    with pytest.raises(ConfigError, match="severity: there is no rule, topic, group, prefix or preset 'speed'"):
        chosen(RULES, Config(severity=(("speed", Severity.INFO),)))


def test_every_selector_selects() -> None:
    assert all(chosen(RULES, Config(select=(selector,))) for selector in selectors(RULES))
    assert {"ALL", "ci", "TL", "TL2", "lint", "loading", "TL402", "unused-suppression"} <= set(selectors(RULES))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("tests/*", "tests/deep/test_a.py"),
        ("tests", "tests/test_a.py"),
        ("tests/", "a/tests/test_a.py"),
        ("test_*.py", "a/b/test_a.py"),
        ("**/tests/**", "tests/test_a.py"),
        ("a/**/c.py", "a/c.py"),
        ("a/**/c.py", "a/b/b/c.py"),
        ("./a.py", "a.py"),
        ("[ab].py", "a.py"),
        ("[!b].py", "a.py"),
        ("?.py", "a.py"),
        ("[.py", "[.py"),
        ("[z-a].py", "[z-a].py"),
    ],
)
def test_a_glob_ignores_in_the_files_it_matches(glob: str, path: str) -> None:
    config = Config(per_file_ignores=((glob, ("copies",)),), root=".")
    assert ignored_for(path, config, RULES) == {"TL101", "TL102"}


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("tests/*", "a/tests/test_a.py"),
        ("tests", "tests_more/a.py"),
        ("*.py", "a.pyx"),
        ("/a.py", "b/a.py"),
        ("a/*.py", "a/b/c.pyx"),
        ("[!a].py", "a.py"),
        ("a.py", "axpy"),
        ("a*c.py", "ab/c.py"),
    ],
)
def test_a_glob_leaves_other_files_alone(glob: str, path: str) -> None:
    assert ignored_for(path, Config(per_file_ignores=((glob, ("ALL",)),)), RULES) == frozenset()


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("TL9", "no rule has the id 'TL9', or one that begins with it; there are TL0, TL1, TL2, TL4"),
        ("TL999", "no rule has the id 'TL999', or one that begins with it; there are TL0, TL1, TL2, TL4"),
        ("TL11", "no rule has the id 'TL11', or one that begins with it; there is TL10"),
        ("TL109", "no rule has the id 'TL109', or one that begins with it; there are TL101, TL102"),
        ("tl1", "there is no rule, topic, group, prefix or preset 'tl1'; did you mean 'TL1'?"),
        ("TL203", f"{why_retired('TL203')}; remove it"),
        ("manual-pin-then-copy", f"{why_retired('TL203')}; remove it"),
        ("compile", "the topic 'compile' has no rules; `torchlint rules` lists those that there are"),
    ],
)
def test_what_selects_no_rule_is_said_to_be_none(selector: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check([selector], RULES, "--select")
    assert str(raised.value) == f"--select: {said}"


GROUPED = [
    rule("TL101", "tensor-copies-ndarray"),
    rule("TL204", "unsafe-nonblocking-download", severity=Severity.ERROR),
    rule("TL301", "sync-in-hot-loop"),
    rule("TL304", "data-dependent-shape", severity=Severity.INFO),
    rule("TL406", "cuda-in-worker", group="preview"),
    rule("TL602", "single-tensor-updates", severity=Severity.INFO, default=False),
    rule("TL701", "hardcoded-cuda", group="portability"),
]


def on_of(*select: str, extend: tuple[str, ...] = (), ignore: tuple[str, ...] = (), preview: bool = False) -> set[str]:
    config = Config(select=select or None, extend_select=extend, ignore=ignore, preview=preview)
    return set(chosen(GROUPED, config)) - {"TL000", "TL001"}


def test_rules_of_the_group_preview_are_off_unless_previews_are_on() -> None:
    assert on_of() == {"TL101", "TL204", "TL301", "TL304", "TL701"}
    assert on_of(preview=True) == on_of() | {"TL406"}
    assert on_of("TL4") == on_of("recommended") - on_of() == on_of("loading") == set()
    assert "TL406" not in on_of("ALL")
    assert on_of("TL4", preview=True) == {"TL406"}
    assert "TL406" in on_of("ALL", preview=True)


@pytest.mark.parametrize("selector", ["TL406", "cuda-in-worker", "preview"])
def test_a_preview_that_is_named_is_on(selector: str) -> None:
    assert on_of(selector) == {"TL406"}
    assert on_of(extend=(selector,)) == on_of() | {"TL406"}


def test_a_preview_can_be_ignored_by_any_selector() -> None:
    assert on_of(preview=True, ignore=("TL4",)) == on_of(preview=True, ignore=("preview",)) == on_of()
    assert on_of(extend=("TL406",), ignore=("TL4",)) == on_of() | {"TL406"}


def test_a_group_selects_its_rules_and_follows_from_the_severity() -> None:
    assert on_of("dead") == {"TL204"}
    assert on_of("waste") == {"TL101", "TL301"}
    assert on_of("advice") == {"TL304", "TL602"}
    assert on_of("portability") == {"TL701"}
    assert on_of("dead", "waste") == {"TL101", "TL204", "TL301"}
    assert set(GROUPS) <= set(selectors(GROUPED))


def test_a_group_is_less_specific_than_a_topic_and_more_than_a_preset() -> None:
    assert on_of("copies", ignore=("waste",)) == {"TL101"}
    assert on_of("waste", ignore=("training",)) == {"TL101", "TL301"}


def test_a_group_gives_a_severity() -> None:
    given = (("waste", Severity.WARNING), ("ALL", Severity.ERROR))
    found = torchlint.lint_source(ADVICE, config=Config(severity=given)).findings
    assert [(finding.rule, finding.severity) for finding in found] == [("TL103", Severity.WARNING)]
