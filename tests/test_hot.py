"""Functions that the configuration calls hot, the waits that it allows, and the helper for copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.config.configurations import configurations
from torchlint.model import Finding
from torchlint.run import session

RUNNER = """\
import torch
from registry import builder_of


class Runner:
    def __init__(self, name):
        self.builder = builder_of(name)

    def execute(self, tokens: torch.Tensor):
        self.count = {read}
        return self.builder.build(tokens.cuda())

    def setup(self, tokens: torch.Tensor):
        return tokens.cuda().max().item()
"""
REGISTRY = """\
import flash
from elsewhere import create


def builder_of(name):
    return create(name)


class Builder:
    def build(self, tokens):
        raise NotImplementedError
"""
FLASH = """\
import torch


class Flash:
    def build(self, tokens):
        print(self.longest(tokens))

    def longest(self, tokens):
        return tokens.sum(1).max().item()

    def describe(self, tokens):
        return tokens.sum(1).max().item()
"""


def found(folder: Path, world: str, read: str = "0", flash: str = FLASH) -> list[Finding]:
    (folder / "pyproject.toml").write_text(f"[tool.torchlint.world]\n{world}\n", encoding="utf-8")
    for name, text in {"runner": RUNNER.format(read=read), "registry": REGISTRY, "flash": flash}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    every = session.run(
        [str(path) for path in sorted(folder.glob("*.py"))], session.plan_of(configurations(str(folder)))
    ).findings
    return [one for one in every if one.rule.startswith(("TL1", "TL2", "TL3", "TL001"))]


def warned(every: list[Finding]) -> list[tuple[str, int]]:
    return [(Path(one.path).stem, one.span.line) for one in every if one.severity.value == "warning"]


def test_without_a_hot_function_nothing_is_in_a_step(tmp_path: Path) -> None:
    assert warned(found(tmp_path, "", read="tokens.sum().item()")) == []


@pytest.mark.parametrize("pattern", ["Runner.execute", "*.execute", "runner.Runner.execute"])
def test_a_hot_function_is_a_step_and_what_nothing_in_it_calls_is_not(tmp_path: Path, pattern: str) -> None:
    every = found(tmp_path, f'hot = ["{pattern}"]', read="tokens.sum().item()")
    assert ("runner", 10) in warned(every)
    assert ("runner", 14) not in warned(every)


def test_a_call_of_an_unknown_object_leads_to_all_methods_of_that_name(tmp_path: Path) -> None:
    every = found(tmp_path, 'hot = ["Runner.execute"]')
    assert ("flash", 9) in warned(every)
    assert ("flash", 12) not in warned(every)
    message = next(one.message for one in every if one.span.line == 9)
    assert "no program" not in message


def test_the_decorator_of_a_function_makes_it_hot(tmp_path: Path) -> None:
    decorated = FLASH.replace(
        "    def describe(self, tokens", "    @helpers.step()\n    def describe(self, tokens: torch.Tensor"
    )
    assert ("flash", 13) in warned(found(tmp_path, 'hot = ["@step"]', flash=decorated))


ALLOWED = 'hot = ["Runner.execute"]\nallowed-waits = ["sync_allowed", "# sync-ok"]'


def test_a_comment_with_a_reason_allows_a_wait(tmp_path: Path) -> None:
    every = found(tmp_path, ALLOWED, read="tokens.sum().item()  # sync-ok: the scheduler needs it")
    assert ("runner", 10) not in warned(every)
    assert not [one for one in every if one.rule == "TL001"]


def test_a_comment_without_a_reason_allows_nothing_and_is_reported(tmp_path: Path) -> None:
    every = found(tmp_path, ALLOWED, read="tokens.sum().item()  # sync-ok")
    assert ("runner", 10) in warned(every)
    assert ["no reason" in one.message for one in every if one.rule == "TL001"] == [True]


def test_a_comment_that_covers_no_wait_is_an_unused_suppression(tmp_path: Path) -> None:
    every = found(tmp_path, ALLOWED, read="0  # sync-ok: was one once")
    assert ["unused" in one.message for one in every if one.rule == "TL001"] == [True]


def test_a_context_allows_the_waits_inside_of_it_and_no_others(tmp_path: Path) -> None:
    inside = FLASH.replace(
        "        return tokens", "        with helpers.sync_allowed():\n            return tokens", 1
    )
    assert ("flash", 10) not in warned(found(tmp_path, ALLOWED, flash=inside))
    after = FLASH.replace("        return", "        with helpers.sync_allowed():\n            pass\n        return", 1)
    assert ("flash", 11) in warned(found(tmp_path, ALLOWED, flash=after))


def test_the_helper_of_the_project_is_the_repair_of_a_copy(tmp_path: Path) -> None:
    read = "torch.tensor([len(t) for t in tokens]).to('cuda', non_blocking=True)"
    every = found(tmp_path, 'upload-helper = "project.utils.to_device"', read=read)
    copies = [one for one in every if one.rule == "TL207"]
    assert [one.message.endswith("upload it with `project.utils.to_device`") for one in copies] == [True]
    assert copies[0].fix is None
