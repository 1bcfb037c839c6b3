"""TL103: constant, sequential or random content is created in Python or NumPy and converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.factories import CONSTRUCTOR_NAMES, TORCH_FACTORIES
from torchlint.model import Fix, Recipe, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import all_of, any_of, identifier_parts, identifiers, of_library, text_pattern
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


# Most files that use torch contain constructors and lists. With this predicate, 13 of timm's 304 files are parsed for
# TL103, and 92 without it.
_COMMENT = r"#[^\n]{0,160}\n"
_GAP = rf"(?:[\s\\(]|{_COMMENT}){{0,80}}"
_CLOSE = rf"(?:[\s\\,)]|{_COMMENT}){{0,80}}"
_NUMBER = r"[+-]?[\s(]{0,9}(?:\.?\d[\w.+-]*|True|False)"
# `[0] * n`, `[0 for _ in range(n)]`, `[i for i in range(n)]`, in other brackets as well.
_DISPLAY = (
    rf"\[(?:[\s\[(]|{_COMMENT}){{0,80}}(?:{_NUMBER}{_CLOSE}(?:\]{_CLOSE}\*|for\b)|(\w{{1,80}}){_CLOSE}for{_GAP}\1\b)"
)
_TIMES = rf"[^\[\],]{{1,200}}\*{_GAP}\["  # `n * [0]`
_LIST = rf"(?:(?:[\w.]{{0,40}}list{_GAP})?[\w.]{{0,40}}range\s{{0,40}}\(|{_DISPLAY}|{_TIMES})"
GENERATED_CONTENT = any_of(
    all_of(identifiers("numpy"), of_library(TORCH_FACTORIES)),
    identifiers("asarray"),
    text_pattern(rf"ensor[\s\\)]*\({_GAP}(?:data\s*={_GAP})?{_LIST}", identifier_parts("tensor")),
    concepts.RENAMED_CONSTRUCTOR,
)


class PythonDataFactory(Rule):
    id = "TL103"
    name = "python-data-factory"
    summary = "Constant, sequential or random data is created in Python or NumPy and converted to a tensor"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, GENERATED_CONTENT)
    layout = False
    about_steps = True
    recipe = Recipe("host-content", "finding", "the call runs again and again, or takes over a millisecond", least=2)

    @on.within(*CONSTRUCTOR_NAMES)
    def visit_Call(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories, happens_once

        found = self.module.shared(Factories).generated(node)
        if found is None or not happens_once(self.module, node):
            return

        from torchlint.rules.copies._generated_fixes import made_by_torch

        fix = made_by_torch(self.module, found)
        if fix is None or fix.safety is not Safety.SAFE:
            return  # converted once, which costs too little for a change that may matter
        what = "a Python list" if found.source in ("range", "a list") else f"the result of `{found.source}`"
        message = f"this converts {what}, which was created on the host: create it with `{found.factory}`"
        self.report(node, message, severity=Severity.INFO, fix=fix)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """The content, made by a factory of torch."""
        from torchlint.rules.copies._factories import Factories, makers
        from torchlint.rules.copies._generated_fixes import made_by_torch

        made = map(self.module.shared(Factories).generated, makers(self.module, node))
        return next((made_by_torch(self.module, found) for found in made if found is not None), None)
