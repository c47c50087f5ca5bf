"""JSON Schema: made from Python's type hints, and checked within bounds.

hints.py        type hints and `Field(...)` become a schema
strict.py       schemas within OpenAI's strict mode
functions.py    what a function says of itself; binding.py: its arguments made of JSON
checker.py      does a value meet a schema, and what is wrong, in words; plain.py: a quick yes
drafts.py       the drafts of JSON Schema; patterns.py: their regular expressions; work.py: their bounds
references.py   where a `$ref` leads
parts.py        the schemas within a schema
builder.py      a tool that is put together parameter by parameter; descriptors.py: tools that are objects
"""
