"""Guards: the conditions under which a line runs."""

from __future__ import annotations

import pytest

from tests.analysis_help import find, parse


def guards(code: str) -> list[str]:
    """The guards of ``target()``, inside out: ``not`` before a condition that failed."""
    module = parse(code)
    found = []
    for guard in module.guards(find(module, "target()")):
        text = module.code(guard.condition) if guard.condition else ""
        found.append(f"{guard.kind}:{'' if guard.holds else 'not '}{text}".rstrip(":"))
    return found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("target()", []),
        ("if c:\n    pass\ntarget()", []),
        ("if c:\n    target()", ["test:c"]),
        ("if c:\n    pass\nelse:\n    target()", ["test:not c"]),
        ("if c:\n    pass\nelif d:\n    target()", ["test:d", "test:not c"]),
        ("target() if c else 0", ["test:c"]),
        ("c and target()", ["test:c"]),
        ("c or target()", ["test:not c"]),
        ("assert c\ntarget()", ["test:c"]),
        ("target()\nassert c", []),
        ("def f():\n    if c:\n        return\n    target()", ["test:not c"]),
        ("def f():\n    if c:\n        raise E\n    else:\n        g()\n    target()", ["test:not c"]),
        ("while c:\n    target()", ["test:c"]),
        ("[target() for x in y if c]", ["test:c"]),
        ("try:\n    target()\nexcept E:\n    pass", ["try"]),
        ("try:\n    pass\nexcept E:\n    target()", ["handler:E"]),
        ("@deco\ndef f():\n    target()", ["decorator:deco"]),
        ("match s:\n    case 1 if c:\n        target()", ["case:s", "test:c"]),
        ("if c:\n    def f():\n        target()", ["test:c"]),
    ],
)
def test_a_line_is_guarded_by_what_must_have_held_before_it(code: str, expected: list[str]) -> None:
    assert guards(code) == expected
