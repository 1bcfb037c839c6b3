"""``pytest --torchlint-no-waits``: tests fail in which hot functions wait, on the simulated device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.companion_help import warm_run

pytest.importorskip("torch")

CONFIGURATION = """\
[tool.torchlint.world]
hot = ["Worker.execute", "@step"]
allowed-waits = ["sync_allowed", "# sync-ok"]
"""
WORKER = """\
import contextlib

import torch


@contextlib.contextmanager
def sync_allowed():
    yield


def step(function):
    return function


def count(tokens):
    return tokens.sum().item()


class Worker:
    def execute(self, tokens):
        return {body}


@step
def decode(tokens):
    return tokens.cpu()


def elsewhere(tokens):
    return tokens.cpu()
"""
TESTS = """\
import pytest
import torch
import worker

TOKENS = torch.ones(3, device="cuda")
"""


def run(folder: Path, tests: str, *options: str, body: str = "count(tokens)") -> tuple[int, str]:
    """The exit status, and what pytest says."""
    written = {
        "pyproject.toml": CONFIGURATION,
        "worker.py": WORKER.replace("{body}", body),
        "test_it.py": TESTS + tests,
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    # Where torch has been imported before, the plugin has been as well, of which pytest would warn.
    quiet = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    done = warm_run(folder, "-m", "pytest", *quiet, "--torchlint-no-waits", "--torchlint-on", "sim", *options)
    return done.returncode, done.stdout + done.stderr


PASSED, FAILED = 0, 1
EXECUTES = "\n\ndef test_worker():\n    worker.Worker().execute(TOKENS)\n"


def test_code_that_no_hot_function_calls_may_wait(tmp_path: Path) -> None:
    assert (
        run(tmp_path, "\n\ndef test_it():\n    worker.elsewhere(TOKENS).tolist()\n    TOKENS.sum().item()\n")[0]
        == PASSED
    )


def test_a_hot_function_that_computes_on_the_device_may(tmp_path: Path) -> None:
    assert run(tmp_path, EXECUTES, body="(tokens * 2).sum()")[0] == PASSED


def test_a_wait_in_what_a_hot_function_calls_fails_the_test_in_one_line(tmp_path: Path) -> None:
    status, said = run(tmp_path, EXECUTES)
    assert status == FAILED
    assert "worker.py:16: waits for the device (read) in Worker.execute > count" in said.splitlines()


def test_a_decorated_function_is_hot(tmp_path: Path) -> None:
    status, said = run(tmp_path, "\n\ndef test_it():\n    worker.decode(TOKENS)\n")
    assert status == FAILED
    assert "worker.py:26: waits for the device (download by cpu) in decode" in said.splitlines()


@pytest.mark.parametrize(
    "body", ["tokens.tolist()  # sync-ok: the scheduler needs them", "[\n  tokens\n  .tolist()]  # sync-ok: it does"]
)
def test_a_comment_with_a_reason_allows_a_wait(tmp_path: Path, body: str) -> None:
    assert run(tmp_path, EXECUTES, body=body)[0] == PASSED


def test_a_comment_without_a_reason_does_not(tmp_path: Path) -> None:
    assert run(tmp_path, EXECUTES, body="tokens.tolist()  # sync-ok")[0] == FAILED


def test_a_context_allows_what_is_called_in_it_and_nothing_after_it(tmp_path: Path) -> None:
    body = "self.go(tokens)\n\n    def go(self, tokens):\n        with sync_allowed():\n            count(tokens)"
    assert run(tmp_path, EXECUTES, body=body)[0] == PASSED
    assert run(tmp_path, EXECUTES, body=f"{body}\n        count(tokens)")[0] == FAILED


def test_a_marked_test_is_hot_itself(tmp_path: Path) -> None:
    marked = "\n\n@pytest.mark.torchlint_no_waits\ndef test_it():\n    worker.elsewhere(TOKENS)\n"
    status, said = run(tmp_path, marked, "--strict-markers")
    assert status == FAILED
    assert "worker.py:30: waits for the device (download by cpu) in test_it" in said.splitlines()


def test_a_test_that_fails_by_itself_says_why(tmp_path: Path) -> None:
    assert (
        "assert 1 == 2"
        in run(tmp_path, "\n\ndef test_it():\n    worker.Worker().execute(TOKENS)\n    assert 1 == 2\n")[1]
    )


def test_the_option_excludes_a_run_that_confirms(tmp_path: Path) -> None:
    assert "need runs of their own" in run(tmp_path, EXECUTES, "--torchlint-confirm")[1]
