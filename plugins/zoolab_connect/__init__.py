"""What connects zoolab with other programs and APIs.

apis/         Responses, Anthropic's Messages, Gemini's generateContent, Ollama's /api/chat: one file each
providers.py  models behind these APIs
faulty/       faults on purpose: in replies, in tools and at the endpoint
proxy/        watch a program that zoolab did not write, and run it under each fault
endpoint/     a strict server that plays reported replies to a program, and judges it
mcp/          the Model Context Protocol
otel.py       a trace as spans of OpenTelemetry
protocol.py   a trace as a protocol in Markdown
diagnosis.py  what went wrong in a trace, with evidence and advice
textcalls/    calls in the text of further families of models
wires.py      one turn in the formats of all APIs
nested.py     a walk as a tool, and a model that calls its own tools
awaited.py    walks that are awaited
taped.py      tools whose calls are recorded and played, in programs of any framework
processes.py  other programs, and how they end
threads.py    threads that end with the program
imported.py   files of other programs as traces; conversation.py: messages as steps
readers/      one file for each kind of these files
frameworks.py tools of LangChain, pydantic-ai, the OpenAI Agents SDK
commands/     proxy, stress, endpoint, mcp, serve-tools, secrets, completion

It stands on the public modules of `zoolab` alone. Faults are here, and not in the course, because the proxy
breaks replies with them.
"""

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(__name__)
