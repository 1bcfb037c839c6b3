"""TL001: unused suppression comments."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.text import HEAD, pick

_COMMENTS = (
    "# torchlint: ignore", "# torchlint: ignore[TL101]", "# torchlint: ignore[TL101, TL104] why", "# noqa: TL103",
    "# noqa: TL101, E501", "#torchlint: ignore[TL999]", "# see # torchlint: ignore[TL104]",
    "# noqa: E501,TL201 long", "# torchlint: skip-file", "# type: ignore # noqa: TL301",
    "# torchlint: ignore[hardcoded-cuda]  # and more", "# torchlint:ignore[ TL101 ,TL102 ]", "# NOQA:TL101",
    "# noqa : TL104", "# torchlint: ignore[TL1]",
)  # fmt: skip
_LINES = (
    "y = x + 1", "y = [x,  {}\n         x * 2]", "y = '# torchlint: ignore[TL101]'", 'y = """\n    {}\n    """',
    "y = (x {}\n    )", "y = f'{{x.shape}} {}'", "if x.numel():  {}\n        y = 1\n    else:\n        y = 2",
    "y = x; z = y", "y = x \\\n        + 1", "y = 'a' \\\n        '{}'",
    "def y(): {}\n        return 3\n    y = y()", "y = torch.zeros(2).to(x.device)",
)  # fmt: skip


@st.composite
def unused(draw: st.DrawFn) -> Case:
    """A few statements with comments after, above and inside them."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        line = pick(draw, _LINES).replace("{}", pick(draw, _COMMENTS)).replace("{{", "{").replace("}}", "}")
        form = draw(st.integers(0, 3))
        comment = pick(draw, _COMMENTS)
        lines += {0: [f"{line}  {comment}"], 1: [comment, line], 2: [line, comment], 3: [line]}[form]
        lines.append("kept.append(y)")
    body = "\n    ".join(lines)
    text = f"{HEAD}\n\ndef run(x):\n    kept = []\n    {body}\n    return kept, [x]\n"
    return Case("TL001", text, {"x": pick(draw, ("tensor", "none", "integers"))})
