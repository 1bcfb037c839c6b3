"""TL504: cuDNN benchmarks although input shapes vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import BENCHMARK
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.flags.paths import BackendFlag


class BenchmarkVariableShapes(Rule):
    id = "TL504"
    name = "benchmark-variable-shapes"
    summary = "cuDNN benchmarks although input shapes vary"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (identifier_parts("cudnn", "trainer"),)
    layout = False
    recipe = Recipe(
        "convolution-shapes",
        "run",
        "more than ten input shapes for one convolution while the benchmark is on",
        least=11,
        flags=(("benchmark", True),),
    )

    @on.flag(BENCHMARK, value=True)
    def benchmarks(self, flag: BackendFlag) -> None:
        """Check a write that leaves ``cudnn.benchmark`` True."""
        from torchlint.rules.backends._fixes import without_benchmark
        from torchlint.rules.backends._tuning import Tuning

        shapes = None if self.module.in_test_function(flag.node) else self.module.shared(Tuning).varying_shapes
        if shapes is None:
            return
        reasons = "; ".join(shapes.kinds)
        outside = [f"{path}, line {line}" for path, line, _ in shapes.elsewhere[:2]]
        place = f" ({'; '.join(outside)})" if outside else ""
        self.report(
            flag.node,
            f"cuDNN benchmarks again for every new input shape, and input shapes vary here: {reasons}{place}; "
            "leave `benchmark` off, or pad inputs to a few fixed sizes",
            evidence=[self.module.evidence(where, text) for where, text in shapes.here[:5]],
            severity=Severity.WARNING if len(shapes.kinds) > 1 else Severity.INFO,
            fix=without_benchmark(self.module, flag),
        )
