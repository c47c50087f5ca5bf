"""JSON Schema: made from Python's type hints, and checked within bounds.

hints.py        type hints and `Field(...)` become a schema
strict.py       schemas within OpenAI's strict mode
functions.py    what a function says of itself; binding.py: its arguments made of JSON
checker.py      does a value meet a schema, and what is wrong, in words; plain.py: a quick yes
drafts.py       the drafts of JSON Schema; patterns.py: their regular expressions; work.py: their bounds
formats.py      the parts of a schema, and a tool as each API expects it
"""
