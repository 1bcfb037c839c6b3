"""Which files are tests: by their names, and by what they hold where programs have such names as well."""

from __future__ import annotations

import re

_NAMED = re.compile(r"test_.*|.*_test")
# Modules that tests share: `test_utils`, `testing_helpers`, `shampoo_test_utils`, `utils_for_tests`.
_HELPERS = re.compile(r"(?:.*_)?test(?:s|ing)?_(?:utils?|helpers?|common|cases?|base|lib)|.*_for_tests?|conftest")
_LIBRARIES = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|torch\.testing|absl\.testing)\b", re.MULTILINE
)
# What pytest or unittest would run; scripts such as `test_model.py`, which evaluate a model, have neither. A function
# `test` without more to its name is what a script does that is started.
_ASSERTS = re.compile(rb"^[ \t]*(?:def test\w*\([ \t]*(?:self\b|\))|class Test|assert\b)", re.MULTILINE)
_TESTS = re.compile(rb"^[ \t]*(?:def test|class Test)", re.MULTILINE)
_NAMED_TESTS = re.compile(rb"^[ \t]*(?:def test\w|class Test)", re.MULTILINE)


def is_test(path: str, content: bytes) -> bool:
    """Whether pytest collects a file, or the file supports those that it collects.

    A program with such a name, ``u2net_test.py`` with a main guard and without tests, is none.
    """
    stem = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0].lower()
    if _HELPERS.fullmatch(stem):
        return True
    if not _NAMED.fullmatch(stem):
        return False
    runs = b"__main__" in content
    tests = _NAMED_TESTS if runs else _TESTS
    collected = _ASSERTS.search(content) is not None and tests.search(content) is not None
    return collected or uses_tests(content) or (stem.endswith("_test") and not runs)


def uses_tests(content: bytes) -> bool:
    """Whether a file imports a library for tests."""
    return _LIBRARIES.search(content) is not None
