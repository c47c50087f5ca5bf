"""Walks along the messages that came back, step by step, as a machine with states; a class."""

import json
import random


class Tester:
    tools = {
        "weigh": {"returns": {"kilos": 12, "ill": False, "error": None}},
        "name": {"returns": "Rex"},
        "open": {"raises": "It is locked:\nthe key is lost, " + "and so is the dog, " * 6},
        "feed_all": {"raises": "no food"},
        "nobody": {"returns": None},
        "pets": {"returns": ["Rex", *range(60)]},
        "dogs": {"returns": ["Rex"]},
        "cats": {"returns": []},
        "here": {"returns": False},
        "age": {"returns": 3.5},
        "its_chip": {"returns": "9001"},
        "fault": {"returns": "error of the vet"},
        "story": {"returns": " Once upon a <time> " * 9 + "\n"},
        "silence": {"returns": ""},
    }

    def __call__(self, run):
        self.found = set()
        for scenario in (
            self.plain(),
            self.crooked(),
            self.stubborn(),
            self.varied(),
            ([self.asks(self.call("open"))] * 7, 6),
            ([self.asks(self.call("feed")), {"role": "assistant", "content": "Done."}], 2),
            ([self.crooked()[0][0]] * 2, 1),
            ([self.plain()[0][1]] * 2, 1),
            self.odd(),
            ([{"role": "assistant", "content": None, "tool_calls": None}], 2),
            ([self.asks(self.call("name"))] * 13, 12),
            ([self.asks(self.call("name"), self.call("pets"))] * 2, 1),
            ([self.asks(self.call("name")), {"role": "assistant", "content": "Done."}], 2),
        ):
            self.judge(run, *scenario)
        return sorted(self.found)

    def call(self, name, arguments="{}", id=None):
        id = id or f"id-{random.randrange(10**9)}"
        return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}

    def plain(self):
        calls = [
            self.call("weigh", '{"pet": 1}', "same"),
            self.call("weigh", '{"pet": 2}'),
            self.call("name"),
        ]
        more = {
            "role": "assistant",
            "content": "Hm.",
            "tool_calls": [self.call("name", '{"pet": 3}', "same")],
        }
        replies = [{"role": "assistant", "content": "", "tool_calls": calls}, more]
        return [*replies, {"role": "assistant", "content": "Done.", "tool_calls": []}], 6

    def crooked(self):
        calls = [
            self.call("open"),
            self.call("weigh", '{"pet": 1'),
            self.call("feed"),
            self.call("weigh", "[]"),
            self.call("feed_all"),
        ]
        first = {"role": "assistant", "content": None, "tool_calls": calls}
        return [
            first,
            {**first, "tool_calls": [self.call("name")]},
            {"role": "assistant", "content": "Done."},
        ], 6

    def stubborn(self):
        return [
            {"role": "assistant", "content": None, "tool_calls": [self.call("weigh")]} for _ in range(5)
        ], 2

    def asks(self, *calls):
        return {"role": "assistant", "content": None, "tool_calls": list(calls)}

    def varied(self):
        names = [name for name in self.tools if name not in ("weigh", "name", "open", "feed_all")]
        values = [self.call(name, ' {"pet":0,"owner":null}', "one") for name in (*names, "pets")]
        fails = self.asks(self.call("open"))
        silent = {"role": "assistant", "content": "", "tool_calls": []}
        return [self.asks(*values), self.asks(*values), fails, fails, silent], 8

    def odd(self):
        texts = ["", " ", "null", "false", "4", '""', '"{}"', '[["a", 1]]', '[{"a": 1}]']
        texts += ["{} {}", "so {}", "```json\n{}\n```", "{'a': 1}", '{"a": 1,}', "{}"]
        bad = [self.call("name", text) for text in texts]
        names = [self.call(name) for name in ("Name", "name ", "functions.name", "its chip")]
        kinds = [{"Pet": "1"}, {"pet": ""}, {"pet": "{}"}, {"pet": [1]}, {"pet": " a "}, {"pet": "long" * 40}]
        passed = [self.call("name", json.dumps(one)) for one in kinds]
        return [self.asks(*bad, *names), self.asks(*passed), {"role": "assistant", "content": "Done."}], 8

    def judge(self, run, replies, limit):
        given = [
            {"role": "user", "content": "Well? "},
            self.asks(self.call("name", id="same")),
            {"role": "tool", "tool_call_id": "same", "content": "Max"},
            {"role": "user", "content": "My pet."},
        ]
        record = run(messages=given, replies=replies, tools=self.tools, limit=limit)
        if record["ended"] != "returned":
            self.found.add("it raised")
        self.must(record["given"] == given, "it changed what was given")
        self.must(len(record["requests"]) == min(limit, len(replies)), "the number of requests")
        left, before, due, last = list(record["messages"]), [], [], []
        for message in given:
            before.append(message)
            self.must(left[:1] == [message], "the beginning")
            left = left[1:]
        for number, request in enumerate(record["requests"][: len(replies)]):
            self.must(request["messages"] == before, "a request")
            self.must(set(request["tools"]) == set(self.tools), "the tools of a request")
            reply, late = replies[number], number == limit - 1
            self.must(left[:1] == [reply], "a reply")
            calls = reply.get("tool_calls") or []
            for call, result in zip(calls, left[1:], strict=False):
                self.must(
                    result.get("role") == "tool" and result.get("tool_call_id") == call["id"], "whose result"
                )
                self.must(isinstance(result.get("content"), str), "a result without text")
                ran = self.outcome(call["function"], None if late else str(result.get("content")))
                due += [] if late else ran
                last += ran if late else []
            self.must(len(left) > len(calls), "a result is missing")
            before, left = [*before, *left[: 1 + len(calls)]], left[1 + len(calls) :]
        self.must(not left, "more was said than that")
        ran = sorted(f"{n} {json.dumps(a)}" for n, a in record["executed"])
        self.must(ran in (sorted(due), sorted(due + last)), "what ran")

    def outcome(self, function, content):
        """Checks a result; says what ran for it. At the limit its text is free."""
        name, text = function["name"], function["arguments"]
        if content is None:
            return [f"{name} {json.dumps(json.loads(text))}"] if self.runs(name, text) else []
        failed = "error" in content.lower()
        if name not in self.tools:
            self.must(failed and name in content, "an unknown tool")
            return []
        if not self.runs(name, text):
            self.must(failed, "broken arguments")
            return []
        does = self.tools[name]
        if "raises" in does:
            self.must(failed and does["raises"] in content, "a failed result")
        else:
            told = content if isinstance(does["returns"], str) else self.value(content)
            self.must(told == does["returns"], "a result")
        return [f"{name} {json.dumps(json.loads(text))}"]

    def runs(self, name, text):
        return name in self.tools and type(self.value(text)) is dict

    def value(self, content):
        try:
            return json.loads(content)
        except ValueError:
            return content

    def must(self, so, what):
        if not so:
            self.found.add(what)


faults_of = Tester()
