"""A request as the model reads it: the tokens that the endpoint counted, and who wrote which of them."""

import json
import re
from collections import defaultdict
from html import unescape

import pytest

from zoolab import Replay, Request, tool, walk
from zoolab.errors import InvalidInput
from zoolab.files import read_table
from zoolab.models.recording import Recording, name_without_ids
from zoolab.show.template import show_template
from zoolab.toolbox.starter import starter_tools

KEPT = read_table("zoolab.show", "prompts.json")["prompts"]
RECORDINGS = ("qwen-course-00", "qwen-starter", "qwen-walk")


def recorded():
    """Each kept request as it was recorded, with the number of tokens that llama.cpp counted."""
    for name in RECORDINGS:
        recording = Recording(name)
        for body in recording.requests:
            request = Request(body["messages"], tuple(body.get("tools", ())))
            if name_without_ids(request) in KEPT:
                yield request, recording.response(recording.key_of(body))["usage"]["prompt_tokens"]


def without_times(text):
    return re.sub(r'(_time_ms|timestamp)":\d+', r'\1":0', text)


def test_there_are_as_many_tokens_as_the_endpoint_counted():
    counted = defaultdict(set)  # a result that took longer has a token more, and the same name
    for request, count in recorded():
        counted[name_without_ids(request)].add(count)
    told = {name: sum(len(tokens) for _, tokens in each["parts"]) for name, each in KEPT.items()}
    assert {name for name in counted if told[name] in counted[name]} == set(KEPT)


def test_what_messages_and_tools_say_is_theirs_and_all_else_is_the_templates():
    for request, _ in recorded():
        parts = [(part, "".join(tokens)) for part, tokens in show_template(request).parts]
        schemas = [json.loads(line) for part, text in parts if part == "tools" for line in text.splitlines()]
        assert schemas == list(request.tools)
        for role in ("system", "user", "tool"):
            said = [without_times(m["content"]) for m in request.messages if m["role"] == role]
            assert [without_times(text.strip()) for part, text in parts if part == role] == said
        added = "".join(text for part, text in parts if part == "template")
        assert added.count("<|im_start|>") == added.count("<|im_end|>") + 1


def test_a_result_goes_to_the_model_as_words_of_the_user():
    replay = Replay("qwen-starter")
    steps = list(walk("What is 42 + 58?", starter_tools("add", "get_weather", "check_status"), replay))
    second = [step.record for step in steps if step.kind == "request"][1]
    text = show_template(second).text
    assert '<|im_start|>user\n<tool_response>\n{"success":true,"data":100' in text


def test_unknown_requests_are_refused_and_say_which_are_known():
    with pytest.raises(InvalidInput, match='"What is 42 \\+ 58\\?"'):
        show_template(Request([{"role": "user", "content": "Who are you?"}]))

    @tool
    def add(a: int, b: int) -> int:
        """Another description."""
        return a + b

    with pytest.raises(InvalidInput):
        show_template(Request([{"role": "user", "content": "What is 42 + 58?"}], (add.schema(),)))


def test_the_picture_holds_every_token_in_a_box_of_its_own():
    prompt = show_template(Request([{"role": "user", "content": "Say hello."}]))

    boxes = re.findall("<span>(.*?)</span>", prompt._repr_html_(), re.DOTALL)
    assert [unescape(box).replace("↵\n", "\n") for box in boxes] == [t for _, ts in prompt.parts for t in ts]
    assert "reads 32 tokens: added by the template 29, user 3." in prompt._repr_html_()
    assert "== user ==\nSay| hello|." in str(prompt)
