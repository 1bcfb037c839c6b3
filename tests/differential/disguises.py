"""What any program can be put into: handlers, contexts, names that keep objects, comments, other classes.

A strategy draws the statement of a rule; a disguise changes the text around it, or the objects it works on, without
knowing the rule. ``disguised`` composes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.differential.case import Case
from tests.differential.lookalikes import NAME, Elsewhere, classes
from tests.differential.text import HEAD, pick

Disguise = Callable[[st.DrawFn, Case], Case]
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_ERRORS = (
    "RuntimeError", "AssertionError", "TypeError", "ValueError", "AttributeError", "NotImplementedError",
    "(ValueError, IndexError)", "Exception",
)  # fmt: skip
_CONTEXTS = (
    "with torch.device('cpu'):", "with torch.no_grad():", "with torch.enable_grad():", "with torch.inference_mode():",
    "if torch.is_grad_enabled():", "for _ in range(1):", "with torch.autograd.set_detect_anomaly(False):",
)  # fmt: skip
_DEFAULTS = (
    "torch.set_default_dtype(torch.float64)", "torch.set_default_dtype(torch.float16)",
    "torch.set_default_device('cpu')", "torch.set_default_tensor_type(torch.DoubleTensor)",
)  # fmt: skip
_COMMENTS = (
    "# why it is so", "# torchlint: ignore[TL999]  keep this", "# noqa: TL101 because of the memory", "# type: ignore",
    "# noqa: E501", "#: documented",
)  # fmt: skip


def disguised(plain: SearchStrategy[Case], disguises: Sequence[Disguise]) -> SearchStrategy[Case]:
    """Programs of a strategy: half of them as they are, the others in one disguise or two."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Case:
        case = draw(plain)
        assume(_compiles(case.text))
        for _ in range(draw(st.sampled_from((0, 0, 1, 1, 1, 2)))):
            case = pick(draw, disguises)(draw, case)
        return case

    return drawn()


# -- the text around -------------------------------------------------------------------------------


def handled(draw: st.DrawFn, case: Case) -> Case:
    """Errors of some classes are handled around a part of a function."""
    if "meta" in (case.surroundings.device, case.surroundings.scope):
        return case  # moves from there raise errors, which a tensor made on its device does not
    error = pick(draw, _ERRORS)
    return _around(draw, case, "try:", [f"except {error}:", "    return 'handled', []"])


def inside(draw: st.DrawFn, case: Case) -> Case:
    """A part of a function runs in a context."""
    contexts = _CONTEXTS if case.cuda else (*_CONTEXTS, "with torch.device('meta'):")
    return _around(draw, case, pick(draw, contexts), [])


def with_default(draw: st.DrawFn, case: Case) -> Case:
    """The program sets a default: before it defines anything, or by a function that `run` calls."""
    line = pick(draw, _DEFAULTS)
    if draw(st.booleans()):
        return _with_lines(case, 2, [line])
    changed = _first_in(case, "run", ["prepare()"])
    return _with_lines(changed, 2, ["", "", "def prepare():", f"    {line}", ""])


def kept(draw: st.DrawFn, case: Case) -> Case:
    """A second name keeps the object that an assignment gave to the first."""
    found = [node for node in _assignments(case.text) if _in_function(case.text, node)]
    if not found:
        return case
    node = pick(draw, found)
    name = node.targets[0].id  # type: ignore[attr-defined]
    line = f"{' ' * node.col_offset}KEPT.append({name})"
    changed = _with_lines(case, node.end_lineno or node.lineno, [line])
    return _with_lines(changed, 2, ["", "KEPT = []"])


def annotated(draw: st.DrawFn, case: Case) -> Case:
    """Comments follow some lines and stand above others."""
    lines = case.text.splitlines()
    starts = [node.lineno - 1 for node in ast.walk(ast.parse(case.text)) if isinstance(node, (*_SIMPLE, ast.Return))]
    places = sorted({start for start in starts if start > 1}, reverse=True)
    for place in places:
        comment = pick(draw, _COMMENTS)
        above = re.match(r" *", lines[place])[0] + comment  # type: ignore[index]
        form = draw(st.integers(0, 2))
        if form == 1:
            lines.insert(place, above)
        elif form == 2 and _ends_there(lines[place]):
            lines[place] += f"  {comment}"
    return replace(case, text="\n".join([*lines, ""]))


def _around(draw: st.DrawFn, case: Case, before: str, after: list[str]) -> Case:
    """Some statements of a function, from one to all, inside a compound statement."""
    bodies = [node.body for node in ast.walk(ast.parse(case.text)) if isinstance(node, ast.FunctionDef)]
    body = pick(draw, bodies)
    first = draw(st.integers(0, len(body) - 1))
    last = draw(st.integers(first, len(body) - 1))
    start, end = body[first].lineno - 1, body[last].end_lineno or 0
    if start + 1 == body[0].lineno and case.text.splitlines()[start].lstrip().startswith(("def", "class")):
        return case  # a body on the line of its function
    margin = " " * body[first].col_offset
    lines = case.text.splitlines()
    inner = [f"    {line}" for line in lines[start:end]]
    lines[start:end] = [margin + before, *inner, *(margin + line for line in after)]
    return _parsed(case, "\n".join([*lines, ""]))


# -- other classes ---------------------------------------------------------------------------------


def of_own_class(draw: st.DrawFn, case: Case) -> Case:
    """A value that the program assigns is an instance of one of its classes."""
    found = [node for node in _assignments(case.text) if node.lineno == node.end_lineno]
    if not found:
        return case
    node = pick(draw, found)
    lines = case.text.splitlines()
    line, start, end = lines[node.lineno - 1], node.value.col_offset, node.value.end_col_offset
    lines[node.lineno - 1] = f"{line[:start]}{NAME}({line[start:end]}){line[end:]}"
    return _defining(replace(case, text="\n".join([*lines, ""])), draw(classes()))


def made_of_own_class(draw: st.DrawFn, case: Case) -> Case:
    """A parameter, or a batch of a loop, becomes an instance of a class of the program."""
    places = [(node.lineno, node.body[0].col_offset, name) for node, name in _receivers(case.text)]
    if not places:
        return case
    line, margin, name = pick(draw, places)
    changed = _with_lines(case, line, [f"{' ' * margin}{name} = {NAME}({name})"])
    return _defining(changed, draw(classes()))


def from_elsewhere(draw: st.DrawFn, case: Case) -> Case:
    """An input is an instance of a class that the program does not show."""
    names = [name for name, value in case.inputs.items() if isinstance(value, str) and name not in _NOT_TENSORS]
    names = [name for name in names if f"{name}: " not in case.text]  # annotations are believed
    if not names:
        return case
    name, text = pick(draw, names), draw(classes())
    return replace(case, inputs={**case.inputs, name: Elsewhere(case.inputs[name], text)})


def without_cuda(draw: st.DrawFn, case: Case) -> Case:
    """A program for CUDA runs on a machine without it."""
    del draw
    return replace(case, cuda=False)


_NOT_TENSORS = ("device", "kind", "fill", "n")
ALL: tuple[Disguise, ...] = (
    handled, handled, inside, with_default, kept, annotated, of_own_class, made_of_own_class, from_elsewhere,
    without_cuda,
)  # fmt: skip


# -- edits of a text -------------------------------------------------------------------------------


def _assignments(text: str) -> list[ast.Assign]:
    """Assignments of a value to one name."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign)]
    return [node for node in found if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)]


def _receivers(text: str) -> list[tuple[ast.FunctionDef | ast.For, str]]:
    """Functions and loops whose body begins on a line of its own, with a name that they receive."""
    found: list[tuple[ast.FunctionDef | ast.For, str]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            found += [(node, each.arg) for each in node.args.args if each.arg not in ("self", *_NOT_TENSORS)]
        elif isinstance(node, ast.For):
            found += [(node, each.id) for each in ast.walk(node.target) if isinstance(each, ast.Name)]
    return [(node, name) for node, name in found if node.body[0].lineno == node.lineno + 1]


def _in_function(text: str, wanted: ast.Assign) -> bool:
    inner = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    alone = text.splitlines()[wanted.lineno - 1].lstrip().startswith(ast.unparse(wanted.targets[0]))
    return alone and any(node.lineno < wanted.lineno <= (node.end_lineno or 0) for node in inner)


def _ends_there(line: str) -> bool:
    """Whether nothing on the next line belongs to this one, so that a comment may follow."""
    try:
        ast.parse(line.strip())
    except SyntaxError:
        return False
    return "#" not in line


def _first_in(case: Case, function: str, lines: list[str]) -> Case:
    [found] = [n for n in ast.parse(case.text).body if isinstance(n, ast.FunctionDef) and n.name == function]
    return _with_lines(case, found.lineno, [f"    {line}" for line in lines])


def _with_lines(case: Case, after: int, lines: list[str]) -> Case:
    """The case with lines after the first lines of its text; as it was if that is no program."""
    texts = case.text.splitlines()
    return _parsed(case, "\n".join([*texts[:after], *lines, *texts[after:], ""]))


def _defining(case: Case, text: str) -> Case:
    assert case.text.startswith(HEAD)
    return case if f"class {NAME}" in case.text else _parsed(case, f"{HEAD}\n\n{text}\n\n{case.text[len(HEAD) :]}")


def _parsed(case: Case, text: str) -> Case:
    return replace(case, text=text) if _compiles(text) else case


def _compiles(text: str) -> bool:
    try:
        compile(text, "<program>", "exec")
    except SyntaxError:
        return False
    return True
