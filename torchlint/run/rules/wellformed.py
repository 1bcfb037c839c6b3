"""Says what is wrong with a rule class; quick, since rules of other packages are checked whenever they are loaded."""

from __future__ import annotations

import re
from typing import Any

from torchlint.config.options import unreadable
from torchlint.groups import GROUPS, PREVIEW, implied_by
from torchlint.knowledge.forms import REPORTING
from torchlint.model import Recipe, Severity
from torchlint.prefilter import needs
from torchlint.rule import CORE_PREFIX, FACTS, PROGRAMS, NoOptions, Rule, is_core, page, prefix_of

HEADINGS = (
    "What it finds",
    "Why it costs",
    "Instead",
    "When to leave it",
    "Fix safety",
    "Confirmed by",
    "Sources",
)
# What rules of other packages must say; further headings are theirs to choose.
FEWER_HEADINGS = HEADINGS[:3]
_NO_VISITOR = "has no visitor: name a method `visit_...`, or declare it with `@on...`"
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NEEDS = (
    needs.Identifiers,
    needs.OfLibrary,
    needs.Imported,
    needs.IdentifierParts,
    needs.TextPattern,
    needs.Any,
    needs.All,
)


def problems(rule: type[Rule]) -> list[str]:
    """What is wrong with a rule class; an empty list if it can be loaded."""
    found = [f"has no {fact}" for fact in FACTS if not hasattr(rule, fact)]
    found += [f"{fact} is no text" for fact in FACTS[:3] if not isinstance(getattr(rule, fact, ""), str)]
    if found:
        return found
    return [
        *_id_problems(rule),
        *_fact_problems(rule),
        *_option_problems(rule.Options),
        *([] if rule.visitors() or rule.id in REPORTING else [_NO_VISITOR]),
    ]


def _id_problems(rule: type[Rule]) -> list[str]:
    if rule.__module__.startswith("torchlint."):
        return [] if re.fullmatch(r"TL\d{3}", rule.id) else [f"id {rule.id!r} is not TL and three digits"]
    if is_core(rule.id):
        return [f"id {rule.id!r} begins with {CORE_PREFIX}, as only torchlint's own do; choose letters of your own"]
    if not re.fullmatch(r"[A-Z]{2,12}\d{3,4}", rule.id) or prefix_of(rule.id) == "ALL":
        return [f"id {rule.id!r} is not 2 to 12 capital letters (not ALL) and 3 or 4 digits, such as ACME001"]
    return []


def _fact_problems(rule: Any) -> list[str]:
    found = []
    if not _KEBAB.fullmatch(rule.name):
        found.append(f"name {rule.name!r} is not kebab-case, such as tensor-copies-ndarray")
    if rule.topic and not _KEBAB.fullmatch(rule.topic):
        found.append(f"topic {rule.topic!r} is not kebab-case, such as loading")
    if "\n" in rule.summary:
        found.append("summary is not one line of text")
    if not isinstance(rule.severity, Severity):
        found.append(f"severity {rule.severity!r} is not a member of torchlint.model.Severity")
    else:
        found += _group_problems(rule)
    if rule.fix not in ("never", "sometimes", "always"):
        found.append(f"fix {rule.fix!r} is not never, sometimes or always")
    if isinstance(rule.programs, str) or not set(rule.programs) <= set(PROGRAMS):
        found.append(f"programs {rule.programs!r} is not a tuple of some of {', '.join(PROGRAMS)}")
    if rule.recipe is not None and not isinstance(rule.recipe, Recipe):
        found.append("recipe is not a torchlint.model.Recipe")
    if rule.url is not None and not re.match(r"https?://", rule.url):
        found.append(f"url {rule.url!r} does not begin with https://")
    if isinstance(rule.needs, _NEEDS) or not all(isinstance(need, _NEEDS) for need in rule.needs):
        found.append("needs is not a tuple of needs, such as `needs = (concepts.TORCH,)`")
    return found


def _group_problems(rule: Any) -> list[str]:
    if rule.group and rule.group not in GROUPS:
        return [f"group {rule.group!r} is none of {', '.join(GROUPS)}"]
    implied = implied_by(rule.group)
    if implied not in (None, rule.severity):
        return [f"group {rule.group!r} is for the severity {implied.value}, not {rule.severity.value}"]
    if rule.group == PREVIEW and not rule.default:
        return ["default = False says what the group preview says already; remove it"]
    return []


def _option_problems(options: type[Any]) -> list[str]:
    if options is NoOptions:
        return []
    try:
        options()
    except TypeError:
        return ["Options is no dataclass or NamedTuple with defaults for all fields"]
    if not (hasattr(options, "__dataclass_fields__") or hasattr(options, "_fields")):
        return ["Options is no dataclass or NamedTuple with defaults for all fields"]
    try:
        wrong = unreadable(options)
    except (NameError, TypeError) as error:
        return [f"the types in Options cannot be evaluated: {error}"]
    kinds = "bool, int, float, str, Literal or tuple[str, ...]"
    return [f"the option {name} is none of {kinds}, or one of these and None" for name in wrong]


def page_problems(rule: type[Rule]) -> list[str]:
    """What is wrong with the page of a rule, which only tests look at: a run does not read it."""
    headings = re.findall(r"^## (.+)$", page(rule).read(), re.MULTILINE)
    required = HEADINGS if is_core(rule.id) else FEWER_HEADINGS
    missing = [heading for heading in required if heading not in headings]
    if missing:
        return [f"lacks the headings {missing} on its page, which has {headings}"]
    judged = headings if is_core(rule.id) else [heading for heading in headings if heading in required]
    if tuple(judged) != required:
        return [f"has the headings {headings} on its page, not {list(required)}"]
    return []
