"""JSON Schema: made from Python's type hints, and checked within bounds.

hints.py        type hints become a schema; fragments.py: its parts; strict.py: OpenAI's strict mode
fields.py       pydantic's `Field(...)` of a parameter or a member
functions.py    what a function says of itself: its parameters, its hints, its docstring
binding.py      JSON arguments become what the type hints say
checker.py      does a value meet a schema? describe.py: what is wrong, in words
drafts.py       the drafts of JSON Schema, within bounds; patterns.py: their regular expressions
formats.py      a tool as each API expects it; openapi.py: schemas as Gemini writes them
plain.py        a yes to the plainest schemas; quick.py: a yes by jsonschema-rs, for sweeps
"""
