"""Recordings of the small models hold what follows if a person, or nobody, denies the call."""

import argparse

import pytest

from zoolab import Decision, Replay, run
from zoolab.commands.walk import opening_of
from zoolab.models.recording import Recording

NAMES = ("starter", "domains")
PROMPTS = [(name, body["messages"][-1]["content"]) for name in NAMES for body in Recording(name).openings]


@pytest.mark.parametrize("reason", ["nobody was there to allow it", "answered when asked"])
def test_a_listed_prompt_is_answered_if_the_call_is_denied(reason):
    for name, prompt in PROMPTS:
        options = argparse.Namespace(prompt=prompt, recording=name, system=None)
        _, tools, system = opening_of(options, None)
        ask = lambda _: Decision("deny", reason)  # noqa: E731
        assert run(prompt, tools, Replay(name), system=system, ask=ask).steps[-1].status != "pending"
