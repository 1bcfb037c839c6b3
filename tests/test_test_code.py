"""Which code counts as a test."""

from __future__ import annotations

import pytest

from tests.analysis_help import find
from torchlint.analysis.module import SourceModule

HELPER = "def helper(x):\n    target()\n"
MAIN = '\n\nif __name__ == "__main__":\n    main()\n'
SCRIPT = "import torch\n\n\ndef test_epoch(model, loader):\n    target()\n"


def in_test(path: str, code: str) -> bool:
    module = SourceModule.parse(code, path, layout=False)
    return module.in_test(find(module, "target()"))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("optim/gpu_tests/checkpoint_test.py", HELPER),
        ("optim/shampoo_test.py", HELPER),
        ("package/tests/shampoo_utils.py", HELPER),
        ("package/shampoo_test_utils.py", HELPER),
        ("package\\testing_utils.py", HELPER),
        ("test_utils.py", HELPER + MAIN),
        ("optim/shampoo_test.py", HELPER + "def test_it():\n    helper(1)\n" + MAIN),
        ("optim/shampoo_test.py", "from absl.testing import absltest\n" + HELPER + MAIN),
        ("test_model.py", HELPER + "def test():\n    helper(1)\n"),
        ("tests_helper.py", HELPER),
        ("utils_for_tests.py", HELPER),
        ("conftest.py", HELPER),
        ("test_model.py", HELPER + "def test_it():\n    helper(1)\n"),
        ("test_model.py", HELPER + "def test_it(tmp_path):\n    assert helper(1)\n"),
        ("test_model.py", HELPER + "class TestIt:\n    def test_it(self):\n        helper(1)\n"),
        ("model.py", "import unittest\n" + HELPER),
        ("model.py", "from torch.testing import assert_close\n" + HELPER),
        ("model.py", "def test_it():\n    target()\n"),
        ("model.py", "def test_it(x):\n    assert target()\n"),
        ("model.py", "class ModelTest(common.ModelTestCase):\n    def check(self):\n        target()\n"),
    ],
)
def test_tests_and_what_they_share_are_recognized(path: str, code: str) -> None:
    assert in_test(path, code)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("train.py", SCRIPT),
        ("test_model.py", SCRIPT),  # a script that evaluates a model
        ("test.py", SCRIPT),
        ("u2net_test.py", HELPER + MAIN),  # a program
        ("u2net_test.py", "def test():\n    target()\n" + MAIN),
        ("test_sr.py", "def test():\n    target()\n" + MAIN),
        ("latest_utils.py", HELPER),
        ("contests/solution.py", HELPER),
        ("tests/data/model.py", HELPER),
        ("test/evaluate.py", HELPER),
    ],
)
def test_scripts_that_evaluate_are_no_tests(path: str, code: str) -> None:
    assert not in_test(path, code)
