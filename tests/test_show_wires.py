"""One turn in every format, side by side: complete, bounded, escaped, and never a reason to crash."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab import Scripted, Tool, Trace, run
from zoolab.apis import APIS, translate, translate_reply
from zoolab.errors import InvalidInput
from zoolab.records import Messages, Reply, Request, Step

ADD = Tool.from_schema("add", "Add.", {"type": "object"}, lambda a, b: a + b)
ASKS = [("add", {"a": 42, "b": 58})]


def trace():
    return run("What is 42 + 58?", [ADD], Scripted([ASKS, "100"]), system="Be brief.", tool_choice="required")


def shown(message, request=None):
    """A trace of one turn, made by hand."""
    made = Trace()
    request = request or Request([{"role": "user", "content": "Hi"}])
    made.add(Step("request", 1, None, request, Messages()))
    reply = Reply(message)
    made.add(Step("tool_call", 1, None, reply, Messages(), reply=reply))
    return made.show_wires()


class Reader(HTMLParser):
    """The elements, the attributes and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_a_turn_is_what_translate_makes_of_its_request_and_its_reply():
    made = trace()
    wires = made.show_wires()
    request, reply = made.steps[1].record, made.steps[2].reply
    assert (wires.turn, list(wires.bodies), list(wires.replies)) == (1, list(APIS), list(APIS))
    for name in APIS:
        assert wires.bodies[name] == translate(request, name)
        assert wires.replies[name] == translate_reply(reply.message, name)


def test_the_second_turn_holds_the_result():
    wires = trace().show_wires(2)
    assert '"type": "tool_result"' in json.dumps(wires.bodies["anthropic"].body)
    assert wires.replies["gemini"].body["candidates"][0]["content"]["parts"] == [{"text": "100"}]


@pytest.mark.parametrize("turn", [0, 3, -1, None, "1"])
def test_a_turn_that_is_not_there_is_named(turn):
    with pytest.raises(InvalidInput, match="expected one of 1 to 2"):
        trace().show_wires(turn)


def test_a_trace_without_a_request_says_so():
    with pytest.raises(InvalidInput, match="a trace with a request"):
        Trace().show_wires()


def test_a_turn_without_a_reply_has_its_request():
    made = trace()
    made.steps[:] = made.steps[:2]
    assert made.show_wires().replies == {}
    assert "reply" not in str(made.show_wires())


def test_what_a_wire_cannot_say_is_told_in_text_and_on_the_page():
    wires = trace().show_wires()
    told = "'required' cannot be asked for: there is no tool_choice here"
    assert f"! tool_choice at /tool_choice: {told}" in str(wires)
    assert told in Reader(wires._repr_html_()).text


def test_the_text_holds_every_body_as_json():
    wires = trace().show_wires()
    for name in APIS:
        assert json.dumps(wires.bodies[name].body, indent=2) in str(wires)
        assert json.dumps(wires.replies[name].body, indent=2) in str(wires)


def test_a_format_without_a_form_says_so_and_the_others_are_shown():
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    request = Request([{"role": "user", "content": [image]}])
    wires = shown({"role": "assistant", "content": "A cat."}, request)
    assert [w.code for w in wires.bodies["gemini"].warnings] == ["no_form"]
    assert wires.bodies["gemini"].body == {}
    assert wires.bodies["openai"].body["messages"][0]["content"] == [image]
    assert "no_form" in str(wires)


def test_a_long_body_is_cut_with_a_note():
    wires = shown({"role": "assistant", "content": "x" * 100_000})
    assert len(str(wires)) < 150_000
    assert len(wires._repr_html_()) < 200_000
    assert "characters)" in str(wires)


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>", "\ud800\x00"]


@settings(max_examples=50)
@given(text=st.text() | st.sampled_from(HOSTILE))
def test_the_page_is_escaped_and_has_no_script(text):
    call = {"id": text, "type": "function", "function": {"name": text, "arguments": text}, text: text}
    function = {"name": text, "description": text, text: text}
    request = Request([{"role": "user", "content": text}], ({"function": function},), text, {text: text})
    wires = shown({"role": "assistant", "content": text, "tool_calls": [call]}, request)
    page = Reader(wires._repr_html_())
    assert str(wires).encode()
    assert page.elements <= {"style", "div", "section", "h3", "h4", "pre", "code", "p", "ul", "li"}
    assert page.attributes <= {"class", "aria-label", "role", "tabindex"}


def test_the_style_has_no_colour_of_its_own_and_fetches_nothing():
    page = trace().show_wires()._repr_html_()
    style = page[page.index("<style>") : page.index("</style>")]
    assert not any(word in style for word in ("color", "background", "#", "url", "import"))


def test_the_record_is_frozen():
    wires = trace().show_wires()
    with pytest.raises(AttributeError):
        wires.turn = 2
    with pytest.raises(TypeError):
        wires.bodies["openai"] = None
    assert replace(wires, turn=2).bodies is wires.bodies


def test_an_id_that_is_no_text_stops_no_format():
    asks = {"id": ["a"], "type": "function", "function": {"name": "add", "arguments": "{}"}}
    conversation = [
        {"role": "assistant", "content": None, "tool_calls": [asks]},
        {"role": "tool", "tool_call_id": ["a"], "content": "1"},
    ]
    wires = shown({"role": "assistant", "content": "1"}, Request(conversation))
    assert wires.bodies["responses"].body["input"][-1]["type"] == "function_call_output"
