"""The machinery of fixes: what is applied together, what is refused, and that nothing is half done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchlint.base import limits
from torchlint.config.config import Config
from torchlint.model import Edit, FileResult, Finding, Fix, Problem, Safety, Severity, Span
from torchlint.run.fixing.fix import applied, compatible, compiles, offered, repair
from torchlint.run.fixing.fixer import CONFLICTS, UNTRIED, fix_text
from torchlint.run.plan import Plan
from torchlint.run.session import plan

TEXT = "alpha = 1\nbeta = 2\n"


def finding(*edits: tuple[int, int, int, str], rule: str = "TL999", safety: Safety = Safety.SAFE) -> Finding:
    """A finding whose fix replaces columns of lines: ``(line, first, last, text)``."""
    made = tuple(Edit(Span(line, first, line, last), text) for line, first, last, text in edits)
    fix = Fix("mend", safety, made, None if safety is Safety.SAFE else "something")
    place = made[0].span if made else Span(1, 1, 1, 2)
    return Finding(rule, "odd", "lint", Severity.WARNING, "x.py", place, "odd", fix=fix, fingerprint=f"{made}")


def after(*findings: Finding) -> str:
    return applied(TEXT, compatible(TEXT, findings))


def test_edits_that_do_not_touch_are_made_together() -> None:
    assert after(finding((1, 1, 6, "a")), finding((2, 1, 5, "b"))) == "a = 1\nb = 2\n"


def test_of_two_that_overlap_the_first_wins() -> None:
    assert after(finding((1, 1, 6, "a")), finding((1, 3, 10, "??"))) == "a = 1\nbeta = 2\n"
    assert after(finding((1, 3, 3, "!"), (2, 1, 5, "b")), finding((1, 1, 6, "a"))) == "al!pha = 1\nb = 2\n"


def test_a_fix_is_made_wholly_or_not_at_all() -> None:
    both = finding((1, 1, 6, "a"), (2, 1, 5, "b"))
    assert after(finding((2, 1, 5, "c")), both) == "alpha = 1\nc = 2\n"


def test_what_two_fixes_insert_alike_is_inserted_once() -> None:
    one, other = finding((1, 1, 1, "import x; "), (1, 9, 10, "3")), finding((1, 1, 1, "import x; "), (2, 8, 9, "4"))
    assert after(one, other) == "import x; alpha = 3\nbeta = 4\n"


def test_two_different_texts_at_one_place_conflict() -> None:
    assert after(finding((1, 1, 1, "x")), finding((1, 1, 1, "y"))) == "xalpha = 1\nbeta = 2\n"


def test_edits_that_only_meet_do_not_conflict() -> None:
    assert after(finding((1, 1, 6, "a")), finding((1, 6, 7, "")), finding((1, 10, 10, "0"))) == "a= 10\nbeta = 2\n"


def test_unsafe_fixes_have_to_be_asked_for() -> None:
    safe, unsafe = finding((1, 1, 2, "")), finding((2, 1, 2, ""), safety=Safety.UNSAFE)
    assert offered([safe, unsafe], Safety.SAFE) == [safe]
    assert offered([safe, unsafe], Safety.UNSAFE) == [safe, unsafe]


def linter(offers: dict[str, list[Finding]], problem: str = "") -> Callable[[bytes], FileResult]:
    """A linter that offers these fixes for these texts, and fails at the text ``problem``."""

    def lint(data: bytes) -> FileResult:
        text = data.decode()
        failed = (Problem("x.py", "internal error"),) if problem and text == problem else ()
        return FileResult("x.py", tuple(offers.get(text, ())), failed)

    return lint


def test_a_fix_whose_result_does_not_parse_is_refused_and_the_others_are_made() -> None:
    bad, good = finding((1, 9, 10, "("), rule="TL998"), finding((2, 8, 9, "3"))
    lint = linter({TEXT: [bad, good]})
    done = repair(TEXT.encode(), lint(TEXT.encode()), lint, Safety.SAFE)
    assert done.data == b"alpha = 1\nbeta = 3\n"
    assert done.refused == (bad,)
    assert done.fixed == (good,)


def test_a_repeated_keyword_is_no_program() -> None:
    text = "f(a=1)\n"
    bad = finding((1, 6, 6, ", a=2"))
    lint = linter({text: [bad]})
    done = repair(text.encode(), lint(text.encode()), lint, Safety.SAFE)
    assert (done.data, done.refused) == (text.encode(), (bad,))


def test_a_fix_that_brings_a_new_error_is_refused() -> None:
    changed = "alpha = 3\nbeta = 2\n"
    error = Finding("TL507", "dead", "backends", Severity.ERROR, "x.py", Span(1, 1, 1, 2), "dead")
    bad = finding((1, 9, 10, "3"))
    lint = linter({TEXT: [bad], changed: [error]})
    assert repair(TEXT.encode(), lint(TEXT.encode()), lint, Safety.SAFE).refused == (bad,)


def test_a_fix_after_which_linting_fails_is_refused() -> None:
    bad = finding((1, 9, 10, "3"))
    lint = linter({TEXT: [bad]}, problem="alpha = 3\nbeta = 2\n")
    assert repair(TEXT.encode(), lint(TEXT.encode()), lint, Safety.SAFE).data == TEXT.encode()


def test_a_fix_that_never_ends_is_stopped() -> None:
    def lint(_: bytes) -> FileResult:
        return FileResult("x.py", (finding((1, 10, 10, "0")),))

    done = repair(TEXT.encode(), lint(TEXT.encode()), lint, Safety.SAFE)
    assert len(done.fixed) == 10
    assert done.data.decode().startswith("alpha = 10000000000\n")


def many(count: int) -> tuple[str, list[Finding]]:
    """A text of so many lines, and a fix for each."""
    return "a = 1\n" * count, [finding((line, 5, 6, "2"), rule=f"TL{line:03}") for line in range(1, count + 1)]


def test_few_fixes_that_break_the_file_cost_few_attempts_and_the_others_are_made_at_once() -> None:
    text, fixes = many(256)
    fixes[100] = bad = finding((101, 5, 6, "("), rule="TL999")
    error = Finding("TL507", "dead", "backends", Severity.ERROR, "x.py", Span(1, 1, 1, 2), "dead")
    fixes[200] = dead = finding((201, 5, 6, "3"), rule="TL998")
    linted = []

    def lint(data: bytes) -> FileResult:
        linted.append(data)
        left = [f for f, line in zip(fixes, data.decode().splitlines(), strict=True) if line == "a = 1"]
        return FileResult("x.py", (*left, error) if b"3" in data else tuple(left))

    done = repair(text.encode(), FileResult("x.py", tuple(fixes)), lint, Safety.SAFE)
    assert set(done.refused) == {bad, dead}
    assert done.data.count(b"a = 2\n") == 254
    assert len(linted) < 40


def test_a_second_run_tries_nothing_that_the_first_refused_on_another_text() -> None:
    """``first`` fails beside the old second line, and goes when that is repaired."""
    first, second = finding((1, 9, 10, "3"), rule="TL998"), finding((2, 8, 9, "3"), rule="TL997")
    broken = finding((2, 5, 5, "("), rule="TL995")
    error = Finding("TL507", "dead", "backends", Severity.ERROR, "x.py", Span(1, 1, 1, 2), "dead")
    texts = {"alpha = 1\nbeta = 2\n": (first, broken, second), "alpha = 1\nbeta = 3\n": (first,)}

    def lint(data: bytes) -> FileResult:
        wrong = data.startswith(b"alpha = 3") and not data.endswith(b"beta = 3\n")
        return FileResult("x.py", (error,) if wrong else texts.get(data.decode(), ()))

    done = repair(TEXT.encode(), lint(TEXT.encode()), lint, Safety.SAFE)
    assert done.data == b"alpha = 3\nbeta = 3\n"
    again = repair(done.data, lint(done.data), lint, Safety.SAFE)
    assert (again.data, again.fixed, again.refused) == (done.data, (), ())


def test_all_attempts_on_one_file_share_a_budget_and_what_was_made_before_its_end_stays() -> None:
    text, fixes = many(64)
    fixes[40] = finding((41, 5, 6, "("), rule="TL999")
    seconds = [0.0]
    budget = limits.Budget(2.5, lambda: seconds[0])

    def lint(data: bytes) -> FileResult:
        seconds[0] += 1
        return FileResult("x.py", tuple(f for f in fixes if "a = 1\n" in data.decode()))

    with budget.running():
        done = repair(text.encode(), FileResult("x.py", tuple(fixes)), lint, Safety.SAFE, budget)
    assert done.exhausted
    assert seconds == [3]
    assert 0 < len(done.fixed) < 63
    assert done.data.count(b"2") == len(done.fixed)


def test_fixes_that_were_not_tried_are_named_with_their_lines_and_the_next_run_makes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = ("import torch\ndef f(d):\n" + "    x = torch.zeros(3).to(d.device)\n" * 3).encode()
    left = iter((1.0,))

    def one_attempt(_: limits.Budget) -> float:
        for seconds in left:
            return seconds
        raise limits.Exhausted

    with monkeypatch.context() as patched:
        patched.setattr(limits.Budget, "left", one_attempt)
        untouched, run = fix_text(data, "x.py", everything(), Safety.SAFE)
    assert untouched == data
    assert run.repairs is not None
    assert (run.repairs.fixed, run.repairs.skipped) == ((), ((UNTRIED, 3),))
    (problem,) = run.problems
    for words in ("3 fixes were not tried", "TL104 on lines 3-5", "60 s", "time-limit", "--fix again"):
        assert words in problem.message
    assert b"torch.zeros(3, device=d.device)" in fixed(data)


def test_compiling_runs_nothing_and_survives_deep_nesting() -> None:
    assert compiles("raise SystemExit\n")
    assert not compiles("f(a=1, a=2)\n")
    assert not compiles("(" * 10_000 + ")" * 10_000)


# -- bytes -----------------------------------------------------------------------------------------

MOVED = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device){}\n"
MADE = "import torch\n\n\ndef f(x):\n    return torch.zeros(3, device=x.device){}\n"


def everything(**options: object) -> Plan:
    return plan(Config(**options))  # type: ignore[arg-type]


def fixed(data: bytes, allowed: Safety = Safety.SAFE) -> bytes:
    return fix_text(data, "x.py", everything(), allowed)[0]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
def test_encoding_mark_and_newlines_stay(newline: str, encoding: str) -> None:
    cookie = f"# -*- coding: {encoding} -*-\n" if not encoding.startswith("utf-8") else ""
    before, wanted = (cookie + text.format("  # größer") for text in (MOVED, MADE))
    data = before.replace("\n", newline).encode(encoding)
    assert fixed(data) == wanted.replace("\n", newline).encode(encoding)


def test_the_last_newline_stays_missing_and_odd_lines_stay() -> None:
    odd = "\x0c\nx = 1 \t \n"
    assert fixed((odd + MOVED.format("")).rstrip("\n").encode()) == (odd + MADE.format("")).rstrip("\n").encode()


def test_a_file_whose_bytes_would_not_come_back_is_left_and_said_so() -> None:
    # Windows' Japanese encoding has two codes for this character, of which Python writes the other one.
    data = b"# -*- coding: cp932 -*-\nx = '\x87\x90'\n" + MOVED.format("").encode()
    after_all, run = fix_text(data, "x.py", everything(), Safety.SAFE)
    assert after_all == data
    assert "writes the same text in other bytes" in run.problems[0].message


def test_a_broken_file_is_left_alone() -> None:
    data = b"import torch\nx = torch.zeros(3).to('cuda'\n"
    after_all, run = fix_text(data, "x.py", everything(), Safety.UNSAFE)
    assert after_all == data
    assert [f.rule for f in run.findings] == ["TL000"]


def test_nested_fixes_are_made_in_several_rounds_and_counted() -> None:
    data = b"import torch\ndef f(d):\n    return torch.zeros(int(torch.ones(1).to(d.device))).to(d.device)\n"
    done, run = fix_text(data, "x.py", everything(), Safety.SAFE)
    assert b"torch.zeros(int(torch.ones(1, device=d.device)), device=d.device)" in done
    assert run.repairs is not None
    assert len(run.repairs.fixed) == 2
    assert CONFLICTS not in dict(run.repairs.skipped)


def test_what_needs_unsafe_fixes_is_counted() -> None:
    _, run = fix_text(
        b"import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        b"        return x + torch.randn(3).to(x.device)\n",
        "x.py",
        everything(),
        Safety.SAFE,
    )
    assert run.repairs is not None
    assert (len(run.repairs.fixed), run.repairs.unsafe, run.repairs.skipped) == (0, 1, ())
