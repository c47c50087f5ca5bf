"""The reports about Chat Completions, and about servers that speak it."""

from __future__ import annotations

from tools.datasets.reports.forms import JSON, Said, chat, chat_call, failure
from tools.datasets.reports.row import CLEAN, NO_CLEANUP, NOON, OSLO, TIME, WEATHER, done, report

_DONE = done("chat")
_MUST_TELL = "Run nothing of the last call, tell the model or the caller why, and call the end no answer."
_CUT: JSON = {"prompt": CLEAN, "must_not_run": NO_CLEANUP}
_OSLO = '{"city": "Oslo"}'
_ROME = '{"city": "Rome"}'


def _cleanup(arguments: str) -> JSON:
    return chat_call("call_a01", "cleanup", arguments)


def cut() -> list[JSON]:
    """Return replies that are not whole."""
    return [
        report(
            "chat-cut-blank",
            "cut call",
            ["ahwurm/localharness #77", "vllm-project/vllm #46303, #58228", "can1357/oh-my-pi #1786"],
            "The limit of tokens cut the reply after the tool's name, and the blank arguments ran as {}.",
            _MUST_TELL,
            [chat(None, [_cleanup("")], "length", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-cut-empty-object",
            "cut call",
            ["vllm-project/vllm #58228"],
            "The server closed the cut arguments to {}, so the tool ran with its defaults.",
            _MUST_TELL,
            [chat(None, [_cleanup("{}")], "length", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-cut-some-keys",
            "cut call",
            ["jaseci-labs/jac #6766", "deepset-ai/haystack-core-integrations #3982"],
            "The keys that had come met the schema, and the tool ran without those that had not.",
            _MUST_TELL,
            [chat(None, [_cleanup('{"path": "/data/new"}')], "length", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-cut-half-a-value",
            "cut call",
            ["LibreChat-AI/agents #280", "jaseci-labs/jac #6766"],
            "The limit cut a value in half, and a repair closed the text to another call.",
            _MUST_TELL + " Send back arguments that are JSON.",
            [chat(None, [_cleanup('{"path": "/data/n')], "length", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-cut-after-a-whole-call",
            "cut call",
            ["NVIDIA-NeMo/Gym #2628", "OpenRouterTeam/typescript-agent #125"],
            "Two calls came, and the limit cut the second one.",
            "Run nothing of the last call. The first one is whole and may run. Each gets a result.",
            [chat(None, [chat_call("call_a01", "get_time", "{}"), _late()], "length", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-filtered-call",
            "filtered call",
            ["ai-dynamo/dynamo #13791"],
            "A filter cut the reply after the name of the tool, and the call ran with its defaults.",
            _MUST_TELL,
            [chat(None, [_cleanup("")], "content_filter", "filtered"), _DONE],
            **_CUT,
        ),
        report(
            "chat-context-window",
            "cut call",
            ["turnstonelabs/turnstone #1162", "earendil-works/pi #1868"],
            "The context window was full. That end is not called `length`, so the call counted as whole.",
            _MUST_TELL,
            [chat(None, [_cleanup("{}")], "model_context_window_exceeded", "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-no-end",
            "stream without an end",
            ["NousResearch/hermes-agent #81017, #42314", "CommandCodeAI/command-code #785"],
            "The stream ended after the name of the tool, without a finish_reason, and the call ran with {}.",
            _MUST_TELL,
            [chat(None, [_cleanup("")], None, "cut"), _DONE],
            **_CUT,
        ),
        report(
            "chat-text-no-end",
            "stream without an end",
            ["justrach/codegraff #146", "dotflow-io/pycodeloop #64"],
            "The stream of a text broke off, and half of the text was kept as the answer.",
            "Call the end no answer.",
            [chat("The folder holds", finish=None, end="cut"), _DONE],
        ),
        report(
            "chat-text-cut",
            "cut text",
            ["posit-dev/chatlas #327", "dotflow-io/pycodeloop #64"],
            "The limit of tokens cut a text, and half of the text was kept as the answer.",
            "Call the end no answer.",
            [chat("The folder holds", finish="length", end="cut"), _DONE],
        ),
    ]


def _late() -> JSON:
    return chat_call("call_a02", "cleanup", "")


def failed() -> list[JSON]:
    """Return replies that are no answer, and hold no call that may run."""
    reasoning: JSON = {"reasoning_content": "The user wants to know the time. I call the tool."}
    open_call = '<tool_call>\n{"name": "cleanup", "arguments": {}}\n</tool_call>'
    words = "Failed to call a function. See 'failed_generation' for more details."
    refused = {"message": words, "type": "invalid_request_error", "code": "tool_use_failed"}
    refused["failed_generation"] = "<function=get_weather>" + _OSLO + "</function>"
    return [
        report(
            "chat-empty-turn",
            "empty end",
            ["NousResearch/hermes-agent #83882", "run-llama/llama_index #17921"],
            "The reply was empty. It went back as an empty message, and the next request was a 400.",
            "Call the end no answer, and never send an empty assistant message.",
            [chat("", end="empty"), _DONE],
            prompt=TIME,
        ),
        report(
            "chat-only-reasoning",
            "empty end",
            ["mistralai/mistral-vibe #130", "0xPlaygrounds/rig #1656"],
            "The reply held reasoning and nothing else, and counted as an answer.",
            "Call the end no answer.",
            [chat(None, end="empty", **reasoning), _DONE],
            prompt=TIME,
        ),
        report(
            "chat-call-in-reasoning",
            "call in a thought",
            ["ggml-org/llama.cpp #21118", "lmstudio-ai/lmstudio-bug-tracker #1870, #2045"],
            "The model never ended its thought, so the server put the call into reasoning_content.",
            "Do not run what is only thought, and call the end no answer.",
            [chat("", end="empty", reasoning_content=f"I clean up.\n{open_call}"), _DONE],
            **_CUT,
        ),
        report(
            "chat-finish-error",
            "failed end",
            ["OpenRouterTeam/openrouter-examples #67"],
            "The finish_reason was `error`, with nothing in the reply, and that counted as an answer.",
            "Call the end no answer.",
            [chat("", finish="error", end="failed"), _DONE],
            prompt=TIME,
        ),
        report(
            "chat-failed-generation",
            "failed end",
            [
                "langchain-ai/langchain #31440",
                "huggingface/smolagents #1119",
                "groq/groq-typescript #28, #103",
            ],
            "The server could not read the call, and answered 400 with what the model had written.",
            "Call the end no answer, and show what the model wrote.",
            [failure(400, {"error": refused}), _DONE],
            prompt=WEATHER,
        ),
        report(
            "chat-second-choice",
            "second choice",
            ["zeroclaw-labs/zeroclaw #2136", "HKUDS/nanobot #1555", "ericc-ch/copilot-api #81"],
            "The words were in the first choice and the call in the second, which was dropped.",
            "Run the call of the second choice, or call the end no answer.",
            [
                chat("I look it up.", (), "tool_calls", "failed", others=[_second()]),
                chat("It is 3 degrees in Oslo."),
            ],
            prompt=WEATHER,
        ),
    ]


def _second() -> JSON:
    call = chat_call("call_a01", "get_weather", _OSLO)
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"index": 1, "message": message, "finish_reason": "tool_calls"}


def history() -> list[JSON]:
    """Return what goes back, and what strict servers refuse of it."""
    right = chat(None, [chat_call("call_a02", "get_weather", '{"city": "Oslo", "days": 2}')], *_CALLS)
    broken = chat_call("call_a01", "get_weather", '{"city": "Oslo" "days": 2}')
    two = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}
    unknown = chat_call("call_a02", "send_mail", "{}")
    return [
        report(
            "chat-broken-arguments",
            "broken arguments go back",
            ["vllm-project/vllm #43995", "ggml-org/llama.cpp #25510", "MoonshotAI/kimi-cli #2196"],
            "Broken arguments went back as they had come. The server parses them, and answered 400.",
            "Tell the model what is wrong, with arguments in the history that are a JSON object.",
            [chat(None, [broken], *_CALLS), right, _DONE],
            prompt=WEATHER,
            must_run=[two],
        ),
        report(
            "chat-repairable-arguments",
            "broken arguments go back",
            ["Datus-ai/Datus-agent #862"],
            "A repair succeeded and the tool ran. The broken text went back, and the next request was a 400.",
            "Send back what was run, or correct the model; in both cases as a JSON object.",
            [chat(None, [chat_call("call_a01", "get_weather", "{city: 'Oslo'}")], *_CALLS), _DONE],
            prompt=WEATHER,
        ),
        report(
            "chat-blank-arguments",
            "blank arguments",
            ["petersalomonsen/javascriptmusic #208", "bojieli/ai-agent-book #114"],
            "A whole call without arguments ran, and its blank text went back, which is not JSON.",
            "Run it with {}, and send {} back.",
            [chat(None, [chat_call("call_a01", "get_time", "")], *_CALLS), _DONE],
            prompt=TIME,
            must_run=[NOON],
        ),
        report(
            "chat-call-without-a-name",
            "names",
            ["tailcallhq/forgecode #1141"],
            "The name of a call was blank, went back so, and the server refused the conversation.",
            "Tell the model that there is no such tool, and send back a name that a tool can have.",
            [chat(None, [chat_call("call_a01", "", _OSLO)], *_CALLS), _DONE],
            prompt=WEATHER,
        ),
        report(
            "chat-no-ids",
            "ids",
            ["anomalyco/opencode #1680", "nearai/ironclaw #1241", "jundot/omlx #1995, #1997"],
            "The call came without an id, and the id that the client made did not please Mistral.",
            "Make ids of nine letters and digits.",
            [chat(None, [chat_call(None, "get_time", "{}")], *_CALLS), _DONE],
            prompt=TIME,
            must_run=[NOON],
            refuses=["ids_of_nine"],
        ),
        report(
            "chat-same-ids",
            "ids",
            ["can1357/oh-my-pi #2055", "openclaw/openclaw #47136", "xorbitsai/inference #4237"],
            "Two calls of one reply had the same id. One result was lost, and the next request was a 400.",
            "Run both, and give each an id of its own.",
            [chat(None, [chat_call("call_a01", n, a) for n, a in _TWO], *_CALLS), _DONE],
            prompt=WEATHER,
            must_run=[OSLO, NOON],
        ),
        report(
            "chat-result-for-each-call",
            "a call without a result",
            ["langchain-ai/deepagentsjs #150"],
            "One of two calls did not run and got no result, and the next request was a 400.",
            "Give each call a result; that of an unknown tool is an error.",
            [chat(None, [chat_call("call_a01", "get_time", "{}"), unknown], *_CALLS), _DONE],
            prompt=TIME,
            must_run=[NOON],
        ),
    ]


_CALLS = ("tool_calls", "calls")
_TWO = (("get_weather", _OSLO), ("get_time", "{}"))


def fields() -> list[JSON]:
    """Return fields that must come back."""
    weather = chat_call("call_a01", "get_weather", _OSLO)
    details = [{"type": "reasoning.encrypted", "data": "c2lnbmVk", "id": "r1", "index": 0}]
    google = {"google": {"thought_signature": "c2lnbmVk"}}
    own = {"thought_signature": "c2lnbmVk"}
    thought = "I need the weather of Oslo."
    shared: JSON = {"prompt": WEATHER, "must_run": [OSLO]}
    return [
        report(
            "chat-reasoning-details",
            "a field that must come back",
            ["LibreChat-AI/agents #37", "earendil-works/pi #260", "microsoft/agent-framework #2947"],
            "The client put streams together from the fields that it knew, and lost reasoning_details.",
            "Send reasoning_details back as they came.",
            [chat(None, [weather], *_CALLS, reasoning_details=details), _DONE],
            must_return=[{"role": "assistant", "reasoning_details": details}],
            **shared,
        ),
        report(
            "chat-thought-signature",
            "a field that must come back",
            ["earendil-works/pi #6733, #7745", "tinyhumansai/openhuman #3548", "ServiceNow/eva #206"],
            "The signature of a call stood in extra_content. It was lost, and Gemini answered 400.",
            "Send extra_content back with its call.",
            [chat(None, [{**weather, "extra_content": google}], *_CALLS), _DONE],
            must_return=[{"function": {"name": "get_weather"}, "extra_content": google}],
            **shared,
        ),
        report(
            "chat-fields-of-a-call",
            "a field that must come back",
            ["LibreChat-AI/agents #35", "BerriAI/litellm #16893", "langbot-app/LangBot #2265"],
            "A field of a call that the client did not know was lost in the stream.",
            "Send the fields of a call back with it.",
            [chat(None, [{**weather, "provider_specific_fields": own}], *_CALLS), _DONE],
            must_return=[{"function": {"name": "get_weather"}, "provider_specific_fields": own}],
            **shared,
        ),
        report(
            "chat-reasoning-content",
            "a field that must come back",
            ["bytedance/deer-flow #3043", "charmbracelet/crush #2696", "MoonshotAI/kimi-cli #2141"],
            "The reasoning of a call did not go back, and Kimi and DeepSeek answered 400.",
            "Send reasoning_content back with the call that it led to.",
            [chat(None, [weather], *_CALLS, reasoning_content=thought), _DONE],
            must_return=[{"role": "assistant", "reasoning_content": thought}],
            **shared,
        ),
    ]


def streams() -> list[JSON]:
    """Return which delta belongs to which call, and what else a stream may hold."""
    parts = [{"type": "text", "text": "I look "}, {"type": "text", "text": "it up."}]
    weather = chat_call("call_a01", "get_weather", _OSLO)
    rome = {"name": "get_weather", "arguments": {"city": "Rome", "days": 1}}
    late: list[JSON] = [
        {"tool_calls": [{"index": 0, "id": "call_a01", "function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "get_weather", "arguments": ' "Oslo"}'}}]},
    ]
    both = [chat_call(None, "get_weather", text) for text in (_OSLO, _ROME)]
    one: list[JSON] = [{"tool_calls": [{**call, "index": 0}]} for call in both]
    without: list[JSON] = [
        {"tool_calls": [{"id": "call_a01", "function": {"name": "get_weather", "arguments": '{"city":'}}]},
        {"tool_calls": [{"function": {"arguments": ' "Oslo"}'}}]},
    ]
    apart: list[JSON] = [
        {"tool_calls": [chat_call("call_a01", "get_weather", "", index=0)]},
        {"tool_calls": [{"index": 1, "id": None, "function": {"name": None, "arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": ' "Oslo"}'}}]},
    ]
    named = [chat_call("call_a01", "get_weather", _OSLO), chat_call("call_a02", "get_weather", _ROME)]
    in_order: list[JSON] = [
        {"tool_calls": [chat_call(each["id"], "get_weather", "") for each in named]},
        {"tool_calls": [{"function": {"arguments": '{"city":'}}, {"function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"function": {"arguments": ' "Oslo"}'}}, {"function": {"arguments": ' "Rome"}'}}]},
    ]
    said = chat(None, [weather], *_CALLS)
    alive = Said(said.plain, [": keepalive", *said.streamed[:2], "", *said.streamed[2:]], said.end)
    shared: JSON = {"prompt": WEATHER, "must_run": [OSLO]}
    return [
        report(
            "chat-content-in-parts",
            "content as parts",
            ["BerriAI/litellm #16272", "simonw/llm-mistral #38, #39", "Arize-ai/openinference #3761"],
            "The content came as parts, and the client lost the first words.",
            "Keep the text of all parts.",
            [chat(parts, [weather], *_CALLS), _DONE],
            must_say=["I look it up."],
            **shared,
        ),
        report(
            "chat-name-after-arguments",
            "which delta belongs to which call",
            ["vercel/ai #14722, #14760"],
            "The name of a call came after its first arguments, and one call became two.",
            "Make one call of it, and run it.",
            [chat(None, [weather], *_CALLS, deltas=late), _DONE],
            **shared,
        ),
        report(
            "chat-one-index",
            "which delta belongs to which call",
            ["huggingface/smolagents #1569, #1958", "BerriAI/litellm #11262, #11528"],
            "Two whole calls of one tool came with the index 0 and no id, and became one.",
            "Run both.",
            [chat(None, both, *_CALLS, deltas=one), _DONE],
            prompt="How is the weather in Oslo and in Rome?",
            must_run=[OSLO, rome],
        ),
        report(
            "chat-index-for-arguments",
            "which delta belongs to which call",
            ["sgl-project/sglang #23071"],
            "The arguments came at an index of their own, without a name, and the call ran without any.",
            "Make one call of it, and run it.",
            [chat(None, [weather], *_CALLS, deltas=apart), _DONE],
            **shared,
        ),
        report(
            "chat-calls-in-order",
            "which delta belongs to which call",
            ["SamSaffron/term-llm #314"],
            "Two calls came in one event without an index, and their arguments later in the same order.",
            "Give each call its own arguments, and run both.",
            [chat(None, named, *_CALLS, deltas=in_order), _DONE],
            prompt="How is the weather in Oslo and in Rome?",
            must_run=[OSLO, rome],
        ),
        report(
            "chat-keep-alive-as-data",
            "what else a stream holds",
            ["anomalyco/opencode #50871", "mnfst/llm-gateway #2053", "Growth-Circle/cadis #2329"],
            "A gateway sent its sign of life as data, which is not JSON, and the client gave up.",
            "Pass it over, and run the call.",
            [alive, _DONE],
            **shared,
        ),
        report(
            "chat-no-index",
            "which delta belongs to which call",
            ["openai/openai-python #2806"],
            "The pieces of a call came without an index, and the client stopped.",
            "Put the pieces together, and run the call.",
            [chat(None, [weather], *_CALLS, deltas=without), _DONE],
            **shared,
        ),
    ]


def settings() -> list[JSON]:
    """Return settings that a server rejects, each in its own words."""
    loc = ["body", "max_completion_tokens"]
    extra = {"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": 100}
    effort = {"code": "invalid-argument", "error": "Model any does not support parameter reasoningEffort."}
    words = "json mode cannot be combined with tool/function calling"
    schema = {"type": "object", "properties": {"degrees": {"type": "integer"}}, "required": ["degrees"]}
    described = {"name": "answer", "schema": {**schema, "additionalProperties": False}}
    weather = chat(None, [chat_call("call_a01", "get_weather", _OSLO)], *_CALLS)
    unknown = 'Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.'
    gemini = [{"error": {"code": 400, "message": unknown, "status": "INVALID_ARGUMENT"}}]
    groq = "`reasoning_effort` is not supported with this model"
    leave = "Send the request again without the setting, and say so."
    return [
        report(
            "chat-rejected-at-a-place",
            "a rejected setting",
            ["editor-code-assistant/eca #231"],
            "Mistral named the rejected setting in `loc`, and the client did not find the name.",
            leave,
            [done("chat", "It is noon.")],
            prompt=TIME,
            settings={"max_completion_tokens": 100},
            rejects=[_rejects("max_completion_tokens", 422, {"detail": [extra]})],
        ),
        report(
            "chat-rejected-in-camel-case",
            "a rejected setting",
            ["neavo/LinguaGacha #771", "chenyme/grok2api #814", "NousResearch/hermes-agent #23435"],
            "xAI named reasoning_effort in camel case, and the error is a text, not an object.",
            leave,
            [done("chat", "It is noon.")],
            prompt=TIME,
            settings={"reasoning_effort": "low"},
            rejects=[_rejects("reasoning_effort", 400, effort)],
        ),
        report(
            "chat-rejected-by-groq",
            "a rejected setting",
            ["iamsrikanthnani/pluely #242, #219"],
            "Groq rejected reasoning_effort for a model that does not reason.",
            leave,
            [done("chat", "It is noon.")],
            prompt=TIME,
            settings={"reasoning_effort": "low"},
            rejects=[_rejects("reasoning_effort", 400, {"error": _error(groq)})],
        ),
        report(
            "chat-rejected-by-gemini",
            "a rejected setting",
            ["MinLL/SkyrimNet-GamePlugin #77"],
            "Gemini's endpoint for Chat Completions did not know a setting. Its error is a list.",
            leave,
            [done("chat", "It is noon.")],
            prompt=TIME,
            settings={"frequency_penalty": 0.5},
            rejects=[_rejects("frequency_penalty", 400, gemini)],
        ),
        report(
            "chat-temperature-is-fixed",
            "a rejected setting",
            ["simstudioai/sim #5716"],
            "Kimi takes one temperature alone, and says so without a code or a name beside the words.",
            leave,
            [done("chat", "It is noon.")],
            prompt=TIME,
            settings={"temperature": 0},
            rejects=[_rejects("temperature", 400, {"error": _error(_FIXED)})],
        ),
        report(
            "chat-parallel-without-tools",
            "a rejected setting",
            ["openai/swarm #30", "Upsonic/Upsonic #323"],
            "The client sent parallel_tool_calls without tools, and the server answered 400.",
            "Send parallel_tool_calls only with tools.",
            [done("chat", "Hello.")],
            prompt="Say hello.",
            tools=(),
            settings={"parallel_tool_calls": True},
            rejects=[
                _rejects("parallel_tool_calls", 400, {"error": _error(_PARALLEL)}, "without tools"),
            ],
        ),
        report(
            "chat-schema-beside-tools",
            "a rejected setting",
            ["vercel/ai #16540", "agno-agi/agno #1065"],
            "The client asked for a schema of the answer beside tools, and Groq takes one of the two.",
            "Ask again without the schema, check the answer, and say so.",
            [weather, done("chat", '{"degrees": 3}')],
            prompt=WEATHER,
            settings={"response_format": {"type": "json_schema", "json_schema": described}},
            must_run=[OSLO],
            rejects=[_rejects("response_format", 400, {"error": _error(words)}, "beside tools")],
        ),
    ]


_PARALLEL = (
    "Invalid value for 'parallel_tool_calls': "
    "'parallel_tool_calls' is only allowed when 'tools' are specified."
)


_FIXED = "invalid temperature: only 1 is allowed for this model"


def _error(message: str) -> JSON:
    return {"message": message, "type": "invalid_request_error", "param": None, "code": None}


def _rejects(setting: str, status: int, body: object, when: str = "always") -> JSON:
    return {"setting": setting, "when": when, "status": status, "body": body}


def rows() -> list[JSON]:
    """Return all rows about Chat Completions."""
    return [*cut(), *failed(), *history(), *fields(), *streams(), *settings()]
