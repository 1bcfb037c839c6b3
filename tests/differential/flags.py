"""TL507: backend flags that PyTorch no longer reads."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.text import HEAD, SURROUNDINGS, pick

_IMPORTS = {
    "torch.backends.cudnn": "",
    "cudnn": "from torch.backends import cudnn",
    "backends.cudnn": "from torch import backends",
    "flags": "import torch.backends.cudnn as flags",
}
_VALUES = (
    "True", "False", "None", "1", "'no'", "flag", "not flag", "bool(flag)", "torch.rand(1).item() > 0.5",
    "np.random.rand() > 0.5", "calls.append(1)", "[]", "1 / len(calls)", "missing", "len(calls) == 0", "0.5",
)  # fmt: skip
_AROUND = (
    "{}", "{}", "{}\n    calls.append(2)", "if flag:\n        {}",
    "if flag:\n        {}\n    else:\n        calls.append(3)", "for _ in range(2):\n        {}",
    "try:\n        {}\n    except Exception:\n        calls.append(4)", "calls.append(5); {}; calls.append(6)",
    "{}  # as the guide says", "with torch.no_grad():\n        {}", "if flag: {}",
    "while calls == [7]:\n        {}",
)  # fmt: skip
_READ = (
    "torch.backends.cudnn.enabled", "torch.backends.cudnn.benchmark", "calls", "torch.rand(2)",
    "getattr(torch.backends.cudnn, {!r}, None)", "hasattr(torch.backends.cudnn, '{}')",
    "getattr(torch.backends.cudnn, 'fast' + 'est', 0)", "vars(torch.backends.cudnn).get('{}')",
    "torch.backends.cudnn.{}", "[name for name in dir(torch.backends.cudnn) if name.startswith('f')]",
)  # fmt: skip


@st.composite
def obsolete(draw: st.DrawFn) -> Case:
    """An assignment that can be deleted if nothing visible depends on it."""
    owner = pick(draw, tuple(_IMPORTS))
    name = pick(draw, ("fastest", "verbose"))
    value = pick(draw, (*_VALUES[:5] * 8, *_VALUES))
    target = f"{owner}.{name}"
    statement = pick(
        draw, (f"{target} = {value}", f"{target} = {value}", f"{target} = value = {value}", f"{target}: bool = {value}")
    )
    read = pick(draw, (*_READ[:4] * 4, *_READ)).format(name)
    body = pick(draw, _AROUND).format(statement)
    text = f"{HEAD}{_IMPORTS[owner]}\n\n\ndef run(flag):\n    calls = []\n    {body}\n    return {read}, [calls]\n"
    return Case("TL507", text, {"flag": draw(st.booleans())}, draw(SURROUNDINGS))
