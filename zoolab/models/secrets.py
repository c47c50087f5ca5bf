"""Takes secrets out of text that goes to a file or a screen."""

from __future__ import annotations

import re

HIDDEN = "[secret removed]"

_TOKEN = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}                                # OpenAI, Anthropic, Stripe
    | \b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}                  # GitHub
    | \bxox[abprs]-[A-Za-z0-9-]{10,}                                 # Slack
    | \bAKIA[A-Z0-9]{16}\b                                           # AWS
    | \bAIza[A-Za-z0-9_-]{30,}                                       # Google
    | \bhf_[A-Za-z0-9]{20,}                                          # Hugging Face
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,} # JSON web tokens
    """,
    re.VERBOSE,
)
_LABELLED = re.compile(
    r"""(?ix)
    ( \bbearer\s{1,3}
    | \b(?:x-)?api[-_]?key\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?
    | \b(?:access[-_]?token|client[-_]?secret|password)\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?
    | ://[^/\s:@"']{1,100}:(?=[^/\s@"']{1,100}@)
    )
    (?:(?<=:)[^/\s@"'\\]{1,100}(?=@) | [^\s"'\\&,;{}<>]{6,400})
    """
)


def scrub(text: str) -> str:
    """`text` without what looks like a key, a token or a password.

    >>> scrub("Authorization: Bearer abcdef123456")
    'Authorization: Bearer [secret removed]'
    >>> scrub("https://ada:lovelace@host/?api_key=abcdef123 and sk-proj-abcdefghijk1234")
    'https://ada:[secret removed]@host/?api_key=[secret removed] and [secret removed]'
    """
    return _LABELLED.sub(rf"\1{HIDDEN}", _TOKEN.sub(HIDDEN, text))
