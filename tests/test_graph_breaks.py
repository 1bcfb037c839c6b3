"""What ends a graph in the installed torch is what the table says."""

from __future__ import annotations

import pytest

from tests import graph_breaks
from tests.representatives import first_of_each_kind, parameters
from torchlint.knowledge import compilation

EXPRESSIONS = {**graph_breaks.FUNCTIONS, **graph_breaks.METHODS, **graph_breaks.CONVERSIONS}
TABLE = {
    **compilation.FUNCTIONS,
    **compilation.METHODS,
    **dict.fromkeys(sorted(compilation.CONVERSIONS), compilation.READ),
}


@pytest.mark.parametrize("code", [*graph_breaks.INNOCENT, *graph_breaks.STATEMENTS])
def test_what_the_compiler_records_does_not_end_the_graph(code: str) -> None:
    assert graph_breaks.breaks(code) == 0


def test_every_entry_of_the_table_has_a_snippet() -> None:
    assert set(EXPRESSIONS) == set(TABLE)


@pytest.mark.parametrize("name", parameters(EXPRESSIONS, first_of_each_kind(EXPRESSIONS, lambda name: [TABLE[name]])))
def test_every_entry_of_the_table_ends_the_graph(name: str) -> None:
    assert graph_breaks.breaks(EXPRESSIONS[name]) > 0


@pytest.mark.parametrize("code", graph_breaks.FORMS)
def test_what_is_recognized_by_its_form_ends_the_graph(code: str) -> None:
    assert graph_breaks.breaks(code) > 0


SETTINGS = {
    **{(EXPRESSIONS[name], setting): TABLE[name] for name in EXPRESSIONS for setting in TABLE[name].unless},
    **{(code, setting): None for code, setting in graph_breaks.FORMS.items() if setting},
}
ONE_FOR_EACH = first_of_each_kind(SETTINGS, lambda case: [(SETTINGS[case], case[1])])


@pytest.mark.parametrize("case", parameters(SETTINGS, ONE_FOR_EACH), ids=" with ".join)
def test_with_its_setting_the_compiler_records_it(case: tuple[str, str]) -> None:
    code, setting = case
    switched = True if setting.startswith("capture_") else {graph_breaks.called(code)}
    assert graph_breaks.breaks(code, **{setting: switched}) == 0
