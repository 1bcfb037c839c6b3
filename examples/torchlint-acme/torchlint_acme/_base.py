"""What all rules of ACME have in common."""

from torchlint.rule import Rule


class AcmeRule(Rule):
    """A rule of ACME; reports link to its page."""

    url = "https://github.com/acme/torchlint-acme/blob/main/docs/{name}.md"
    layout = False
