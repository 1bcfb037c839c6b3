"""Fixes of generated programs: whatever the layout, they parse, stay within their edits, and are made once."""

from __future__ import annotations

import ast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import Finding, Safety
from torchlint.run import session
from torchlint.run.fixing.fix import compatible, offered
from torchlint.run.fixing.fixer import fix_text

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n\n"
PLAN = session.plan(Config(preview=True))

# Expressions that a rule has something to say of; `{}` is room for layout.
EXPRESSIONS = st.sampled_from(
    [
        "torch.zeros({}3{}).to({}device{})",
        "torch.zeros({}2, {}3{}).unsqueeze(0){}.to(device)",
        "torch.ones({}n{},{}).to(device=device)",
        "torch.arange({}9).float().to(x)",
        "torch.randn({}n{}).cuda({})",
        "torch.tensor({}np.load('a.npy'){}).to({}device)",
        "torch.tensor({}np.load('a.npy'){}, dtype=torch.float32)",
        "torch.tensor({}np.zeros({}(2, 3){}))",
        "torch.tensor({}[0] * {}4)",
        "torch.tensor({}[np.zeros(2), np.ones(2)]{})",
        "torch.FloatTensor({}2, 3).fill_({}0.5)",
        "x.cpu().clamp({}0, 1{}).to({}device)",
        "torch.tensor({}x.item(), {}device={}x.device)",
        "nn.Linear({}2, 3).cuda({})",
        "x.to({}'cuda')",
        "DataLoader({}x, {}num_workers=2{})",
    ]
)
LAYOUT = st.sampled_from(["", "", " ", "\n        ", "  # note\n        ", "\\\n        "])
# Where an expression may stand: `{}` is the place, and the code around must survive.
PLACES = st.sampled_from(
    [
        "def f(x, n, device):\n    return ({})\n",
        "def f(x, n, device):\n    y = ({}); return y\n",
        "def f(x, n, device):\n    if ({}) is None: return 1\n    return 2\n",
        "def f(x, n, device):\n    return lambda: ({})\n",
        "def f(x, n, device):\n    return [({}) for _ in range(2)]\n",
        "def f(x, n, device):\n    with torch.no_grad():\n        print(({}), end='')\n",
        "async def f(x, n, device):\n    return await x.send({})\n",
        "class C:\n    def f(self, x, n, device):\n        self.y = ({})\n",
        "def f(x, n, device):\n    for batch in ({}):\n        x(batch.to(device))\n",
        "def f(x, n, device):\n    y = ({})  # torchlint: ignore[TL999]\n    return y\n",
        "def f(x, n, device):\n\tif n:\n\t\treturn ({})\n\treturn None\n",
        "@torch.no_grad()\ndef f(x, n, device):\n    assert (y := ({})) is not None, 'never'\n    return y\n",
    ]
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Several functions, each around an expression in some layout."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        expression = draw(EXPRESSIONS)
        filled = expression.format(*(draw(LAYOUT) for _ in range(expression.count("{}"))))
        parts.append(draw(PLACES).format(filled))
    text = HEAD + "\n\n".join(parts)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def parses(text: str) -> bool:
    try:
        compile(text, "generated.py", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.sampled_from(Safety))
def test_a_fixed_program_is_a_program_and_is_fixed_once(text: str, allowed: Safety) -> None:
    if not parses(text):
        return  # a comment may hide a parenthesis that the layout needs
    before = list(lint_source(text, "generated.py").findings)
    data, run = fix_text(text.encode(), "generated.py", PLAN, allowed)
    after = data.decode()
    assert not run.problems
    assert parses(after)
    assert run.repairs is not None
    if offered(before, allowed):
        assert run.repairs.fixed
    assert not offered(run.findings, allowed)
    assert fix_text(data, "generated.py", PLAN, allowed)[0] == data
    assert [n.name for n in definitions(after)] == [n.name for n in definitions(text)]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_one_fix_changes_only_the_lines_of_its_edits_and_ends_its_finding(text: str) -> None:
    if not parses(text):
        return
    findings = list(lint_source(text, "generated.py").findings)
    for finding in offered(findings, Safety.UNSAFE)[:2]:
        after = _with(text, finding)
        assert parses(after)
        changed = {
            line
            for edit in (finding.fix.edits if finding.fix else ())
            for line in range(edit.span.line, edit.span.end_line + 1)
        }
        kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in changed]
        left = iter(after.splitlines())
        assert all(line in left for line in kept), "a line outside of the edits was changed"
        assert _count(after, finding) < _count(text, finding)


def _with(text: str, finding: Finding) -> str:
    from torchlint.run.fixing.fix import applied

    return applied(text, compatible(text, [finding]))


def _count(text: str, finding: Finding) -> int:
    return sum(f.rule == finding.rule for f in lint_source(text, "generated.py").findings)


def definitions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
