"""`zoolab endpoint`: reported replies of endpoints are played to a program, and it is judged."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from zoolab.commands.listing import print_json
from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt, visible
from zoolab.text.wording import as_words
from zoolab_connect.endpoint.cases import ReportedCase, all_tools, find_cases
from zoolab_connect.endpoint.judging import RESULTS, CaseVerdict
from zoolab_connect.endpoint.server import Endpoint, endpoint
from zoolab_connect.processes import signal_group, wait_for_interrupt

#: The variables that name the endpoint of an API, for the clients that people use.
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "chat": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "responses": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL",),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
    "ollama": ("OLLAMA_HOST",),
}
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


def judge_program(options: argparse.Namespace) -> int:
    """Play cases to a program, or serve them; returns 1 if the program fell short in any of them."""
    cases = find_cases(options.cases)
    if options.list and options.json:
        print_json([{"id": each.id, "api": each.api, "kind": each.kind, "must": each.must} for each in cases])
        return 0
    if options.list:
        for case in cases:
            print(f"{case.id:<38} {case.kind:<34} {visible(case.must)}")
        return 0
    verdicts: list[CaseVerdict] = []
    judged = (
        _each(cases, options.command, options.seconds) if options.command else _served(cases, options.port)
    )
    for verdict in judged:
        verdicts.append(verdict)
        print(encode(verdict.as_dict()) if options.json else visible(str(verdict)), flush=True)
    if not options.json:
        _tell_counts(verdicts)
    return int(not all(verdict.ok for verdict in verdicts))


def _each(cases: Sequence[ReportedCase], command: Sequence[str], seconds: float) -> Iterator[CaseVerdict]:
    """Run a program once for each case."""
    for case in cases:
        with endpoint(case) as server:
            yield server.verdict(run_program(command, case, server, seconds))


def run_program(command: Sequence[str], case: ReportedCase, server: Endpoint, seconds: float) -> bool:
    """Run a program against a case; True if it ended in time with the exit code 0.

    In the words of the command, `{url}`, `{prompt}` and `{api}` stand for those of the case. What the program
    prints goes to the standard error, so that the verdicts are alone. Raises `InvalidInput` if it cannot be
    started.
    """
    url = base_url(case, server)
    words = [
        word.replace("{url}", url).replace("{api}", case.api).replace("{prompt}", case.prompt)
        for word in command
    ]
    given = {**os.environ, **environment(case, url)}
    try:
        program = subprocess.Popen(words, env=given, stdout=sys.stderr.fileno(), start_new_session=True)
    except (OSError, ValueError) as error:
        what = f"cannot start {excerpt(words[0])}: {getattr(error, 'strerror', '') or error}"
        raise InvalidInput(what, advice="name a program and its arguments") from None
    try:
        return program.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        signal_group(program.pid)
        program.wait()


def base_url(case: ReportedCase, server: Endpoint) -> str:
    """Return the address of a case as clients of its API take it."""
    return server.url_of(case.id) + ("/v1" if case.api in ("chat", "responses") else "")


def environment(case: ReportedCase, url: str) -> dict[str, str]:
    """Return the variables for a program: the address for its client, and what the case asks for."""
    tools = [all_tools()[name] for name in case.tools]
    told = {"case": case.id, "api": case.api, "url": url, "model": "any"}
    told_all = {**told, "prompt": case.prompt, "settings": case.settings, "tools": tools}
    mine = dict.fromkeys(_ADDRESSES[case.api], url) | dict.fromkeys(_KEYS, "none")
    for name in ("NO_PROXY", "no_proxy"):
        mine[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1"]))
    asked = {
        "ZOOLAB_ENDPOINT_URL": url,
        "ZOOLAB_ENDPOINT_API": case.api,
        "ZOOLAB_ENDPOINT_PROMPT": case.prompt,
    }
    return {**mine, **asked, "ZOOLAB_ENDPOINT": json.dumps(told_all)}


def _served(cases: Sequence[ReportedCase], port: int) -> Iterator[CaseVerdict]:
    """Serve cases until Ctrl-C, and judge those that were played."""
    with endpoint(*cases, port=port) as server:
        with suppress(KeyboardInterrupt):  # which may come as soon as an address is printed
            for case in cases:
                print(f"{case.api:<10} {base_url(case, server)}", file=sys.stderr)
            print("zoolab: Ctrl-C ends it, and prints the verdicts", file=sys.stderr, flush=True)
            wait_for_interrupt()
        yield from server.verdicts()


def _tell_counts(verdicts: Sequence[CaseVerdict]) -> None:
    counted = Counter(verdict.result for verdict in verdicts)
    print()
    for result, (sign, meaning) in RESULTS.items():
        if counted[result]:
            print(f"{sign} {counted[result]:3} {as_words(result)}: {meaning}")
