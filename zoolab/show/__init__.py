"""The panel of a step: what happened in it, in blocks of plain data. One file a kind.

define.py     signature and schema, field by field; what a linter says; what it costs
request.py    what is sent: messages, tools, tool_choice
tool_call.py  what the model asked for, in its own words
validate.py   parse, repair, schema: the checklist and the verdict
execute.py    the Python call, the permission, what came of it
result.py     the tool message, and the call that it answers
blocks.py     the parts that they are made of
panel.py      the panel as a whole, with its tabs
"""
