"""Removes secrets from text before it is written to a file or a screen.

The forms are those of `tests/test_secrets.py`, the ones that detect-secrets 1.5 names among them. It is not
used itself: it has no rule for Groq, xAI, NVIDIA or Hugging Face, finds only the first line of a private key,
finds and does not replace, and its last release, of May 2024, needs requests and PyYAML.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from zoolab.jsontext import encode

HIDDEN = "[secret removed]"

# A name in front of which neither a letter nor a digit stands; the n of an escaped line break may.
_TOKEN = r"""
    (?: (?<![A-Za-z0-9]) | (?<=\\[nrtbf]) )
    (?: (?:sk|pk|rk) (?:-|_live_|_test_)                                       # OpenAI, Anthropic, Stripe
            (?: [A-Za-z0-9_*-]{24,} | (?=[A-Za-z_-]*[0-9*]) [A-Za-z0-9_*-]{8,} )
      | (?:gh[pousr]_|github_pat_) [A-Za-z0-9_]{16,}
      | (?: gl(?:pat|dt|ft|soat|rt|imt|ptt|agent|oas)- | GR1348941 ) [A-Za-z0-9_-]{16,}
      | glcbt-[A-Za-z0-9_-]{20,}                                               # GitLab's jobs
      | (?:xox[abeoprs]|xapp)- [A-Za-z0-9-]{10,}                               # Slack
      | A(?:KI|SI|BI|CC)A[A-Z0-9]{16} (?![A-Za-z0-9])                          # AWS
      | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,}                      # Google
      | hf_[A-Za-z0-9]{20,}
      | npm_[A-Za-z0-9]{30,}
      | (?:gsk_|xai-|r8_|pplx-|csk-) [A-Za-z0-9]{20,}  # Groq, xAI, Replicate, Perplexity, Cerebras
      | (?:tgp_v1_|tvly-|pcsk_|lsv2_(?:pt|sk)_|hvs\.|glsa_|shpat_|sbp_|dckr_pat_|ntn_) [A-Za-z0-9_-]{20,}
      | AKCp[A-Za-z0-9]{10,} | AP[0-9A-F][A-Za-z0-9]{30,}                      # Artifactory
      | [MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}        # Discord
      | [0-9]{8,10}:[A-Za-z0-9_-]{35} (?![A-Za-z0-9_-])                        # Telegram
      | (?:AC|SK)[0-9a-f]{32} (?![A-Za-z0-9])                                  # Twilio
      | [0-9a-f]{32}-us[0-9]{1,2} (?![A-Za-z0-9])                              # Mailchimp
      | sq0(?:csp|atp)-[A-Za-z0-9_-]{20,}                                      # Square
      | (?:nvapi-|pypi-|dapi|dop_v1_) [A-Za-z0-9_-]{20,}                       # NVIDIA, PyPI, Databricks
      | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}                             # SendGrid
      | [A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}                        # Azure
      | (?<![_-]) eyJ[A-Za-z0-9_-]{8,}+ (?: \.[A-Za-z0-9_-]{5,}+ ){2}          # JSON web tokens
    )
"""
_NAMES = r"""
    (?: api[-_]?key | (?:access|auth|refresh|session|bot|id)[-_]?token | (?:client|app)[-_]?secret
      | (?:account|shared[-_]?access|subscription)[-_]?key | x-amz-(?:signature|credential|security-token)
      | secret[-_]?(?:access[-_]?)?key | private[-_]?key | pass(?:word|wd|phrase) | contrase(?:[nñ]|\\+u00f1)a
      | [-_]pwd | (?:db|database|key)[-_]?pass(?![a-z]) | npm[-_]?token | _authToken )
"""
# The names of plain things, too: a short value, or one without digits, is no secret.
_MAY_NAME = r"(?<![A-Za-z0-9]) (?: token | (?:auth|service|client|priv|db|database)[-_]?key )"
_LABEL = rf"(?: {_NAMES} | {_MAY_NAME} | authorization | cookie | (?<![A-Za-z0-9])secret )"
_IS = r"""\\*["']? \s{0,3} [:=] \s{0,3} \\*["']?"""
_NEW = r"(?!\[secret\ removed\]|-----BEGIN\ )"
_QUOTED = r"""\\*["']? \s{0,3} [:=] \s{0,3} \\*["']"""
_PARAMETER = r"""[\w-]{1,40}=(?: \\*"[^"\\\r\n]{0,500}\\*" | [^\s,"'\\]{1,500} ),?[ ]{0,3}"""
_LABELLED = rf"""
    (?: ( {_NAMES} {_QUOTED} ) {_NEW} [^"'\\\r\n]{{4,200}}
      | ( pass(?:word|wd|phrase) {_IS} ) {_NEW}
            [^\s"'\\&,;{{}}<>]{{4,}} (?: [ ][^\s"'\\&,;{{}}<>()]{{1,100}} ){{0,5}}
      | ( {_NAMES} {_IS} ) {_NEW} [^\s"'\\&,;{{}}<>]{{4,}}
      | ( authorization {_IS} (?:bearer|basic|token) \s{{1,3}} ) {_NEW} [^\s"'\\,;]{{4,}}
      | ( authorization {_IS} (?:digest|hawk|aws4-[a-z0-9-]{{1,20}}) \s{{1,3}} ) (?: {_PARAMETER} ){{1,30}}
      | ( authorization {_IS} ) {_NEW} (?!aws4-) (?=[^\s"'\\,;]{{0,100}}[0-9]) [^\s"'\\,;]{{8,}}
      | ( cookie {_IS} ) {_NEW} [^\s=;"'\\]{{1,100}} = [^\r\n"'\\]{{1,4000}}
      | ( (?: {_MAY_NAME} | (?<![A-Za-z0-9])secret ) {_IS} ) {_NEW}
            (?=[^\s"'\\&,;{{}}<>]{{0,100}}[0-9]) [^\s"'\\&,;{{}}<>]{{12,}}
      | ( \bbearer\s{{1,3}} )
        (?: [A-Za-z0-9._~+/=-]{{24,}} | (?=[A-Za-z._~+/=-]*[0-9]) [A-Za-z0-9._~+/=-]{{8,}} )
      | ( [?&](?:key|token|sig|signature|secret)= ) [^\s"'\\&<>]{{16,}}
      | ( ; \s? pwd= ) {_NEW} [^;"'\\\r\n]{{1,200}}
      | ( (?: hooks\.slack\.com/services | softlayer\.com/soap/v3(?:\.1)? ) / ) [A-Za-z0-9/_]{{20,}}
      | ( ://[^/\s:@"'\\]{{0,100}}: ) [^/\s@"'\\]{{1,200}} (?=@)
      | ( -----BEGIN\ [A-Z\ ]{{0,30}}PRIVATE\ KEY(?:\ BLOCK)?----- ) (?: (?!-----) [^"'] )*
    )
"""


@cache
def _pattern(text: str, flags: int = re.VERBOSE | re.IGNORECASE) -> re.Pattern[str]:
    """Compiled when something is scrubbed first: that takes longer than importing the rest."""
    return re.compile(text, flags)


def scrub(text: str) -> str:
    """`text` without what looks like a key, a token or a password.

    >>> scrub("Authorization: Bearer abcdef123456")
    'Authorization: Bearer [secret removed]'
    >>> scrub("https://ada:lovelace@host/?api_key=abcdef123 and sk-proj-abcdefghijk1234")
    'https://ada:[secret removed]@host/?api_key=[secret removed] and [secret removed]'
    """
    without_tokens = _pattern(_TOKEN, re.VERBOSE).sub(HIDDEN, text)
    return _pattern(_LABELLED).sub(lambda found: f"{found[found.lastindex or 0]}{HIDDEN}", without_tokens)


def scrub_json(value: Any) -> Any:
    """A JSON value without secrets: it stays JSON, and so does JSON text within it.

    >>> scrub_json({"password": 12345, "arguments": '{"api_key": 67890}', "max_tokens": 10})
    {'password': '[secret removed]', 'arguments': '{"api_key":"[secret removed]"}', 'max_tokens': 10}
    """
    return _Scrubbing().clean(value)


class _Scrubbing:
    """One value at work. It remembers each text, since a trace says the same ones again and again."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            if value not in self._texts:
                self._texts[value] = self._clean_text(value)
            return self._texts[value]
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        if isinstance(value, dict):
            return {self._name(str(name)): self._member(str(name), item) for name, item in value.items()}
        return value

    def _member(self, name: str, value: Any) -> Any:
        given = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
        if _pattern(_MAY_NAME).fullmatch(name):
            given = isinstance(value, str) and _pattern(r"[!-~]{12,}").fullmatch(value) is not None
        secret = given and any(found.end() == len(name) for found in _pattern(_LABEL).finditer(name))
        return HIDDEN if secret else self.clean(value)

    def _name(self, name: str) -> str:
        if name not in self._names:
            self._names[name] = scrub(name)
        return self._names[name]

    def _clean_text(self, text: str) -> str:
        clean = scrub(text)
        hinted = clean != text or _pattern(_LABEL).search(text)
        if not hinted or text.lstrip()[:1] not in ("{", "["):
            return clean
        try:
            value = json.loads(text)
            hidden = self.clean(value)
        except (ValueError, RecursionError):
            return clean
        return text if hidden == value else encode(hidden)
