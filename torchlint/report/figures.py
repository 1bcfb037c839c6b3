"""Numbers as people read them: three digits, a fitting unit, and no exponents."""

from __future__ import annotations

_UNITS = ((1.0, "us"), (1e3, "ms"), (1e6, "s"))


def number(value: float) -> str:
    """A number with three significant digits, and thousands separated: ``0.0213``, ``1.19``, ``2,461``."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    short = f"{value:.3g}"
    if "e-" in short:
        return "0" if abs(value) < 1e-9 else f"{value:.9f}".rstrip("0")
    return "1,000" if "e" in short else short


def duration(microseconds: float) -> str:
    """A time: ``43 us``, ``246 ms``, ``1.2 s``."""
    fitting = [(factor, unit) for factor, unit in _UNITS if microseconds >= factor * 0.9995]
    factor, unit = fitting[-1] if fitting else _UNITS[0]
    return f"{number(microseconds / factor)} {unit}"


def percent(share: float) -> str:
    """A share: ``70 %``, ``0.4 %``, ``below 0.01 %``."""
    if 0 < share < 0.0001:
        return "below 0.01 %"
    return f"{share:.0%}".replace("%", " %") if share >= 0.095 else f"{share * 100:.2g} %"
