# Right, written out as JSON text; prints, warns and logs to stderr.
import json
import logging
import sys
import warnings

logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)


def read(text):
    print("reading", len(text), "characters")
    warnings.warn("nothing is wrong", stacklevel=2)
    logging.getLogger("lab").error("nothing is wrong here either")
    return json.loads(text)


check_disk_usage = read("""
{"type": "function", "function": {"name": "check_disk_usage", "strict": false,
 "description": "Check disk usage on a server. Use this when the user asks about disk space, free storage, or whether a disk is getting full.",
 "parameters": {"type": "object", "additionalProperties": false, "required": ["host"], "properties": {
  "host": {"type": "string", "description": "Host name, for example db01", "examples": ["db01"]},
  "path": {"type": "string", "description": "Mount point or folder", "default": "/"},
  "unit": {"type": "string", "description": "Unit of the result", "enum": ["percent", "gigabytes"], "default": "percent"}}}}}
""")
search_logs = read("""
{"type": "function", "function": {"name": "search_logs", "strict": false,
 "description": "Return the newest lines from the logs of a service. Use this when the user wants to see errors, warnings or messages that it has written.",
 "parameters": {"type": "object", "additionalProperties": false, "required": ["service", "level"], "properties": {
  "service": {"type": "string", "description": "Service name, for example nginx"},
  "level": {"type": "string", "description": "Least severe level shown", "enum": ["debug", "info", "warning", "error"]},
  "words": {"type": "array", "description": "Words, any of which matches", "items": {"type": "string"}, "minItems": 1},
  "limit": {"type": "integer", "description": "Number of lines, 1 to 200", "minimum": 1, "maximum": 200, "default": 50}}}}}
""")
open_ticket = read("""
{"type": "function", "function": {"name": "open_ticket", "strict": false,
 "description": "Create a support ticket about a problem that a person should solve. Use this when the user wants to report something or to get human help.",
 "parameters": {"type": "object", "additionalProperties": false, "required": ["title", "severity", "contact"], "properties": {
  "title": {"type": "string", "description": "Summary in one line"},
  "severity": {"type": "string", "description": "Severity as seen by the user", "enum": ["low", "normal", "high"]},
  "contact": {"type": "object", "description": "Person to get back to", "additionalProperties": false, "required": ["name"], "properties": {
    "name": {"type": "string", "description": "Name of the person"},
    "email": {"type": "string", "description": "Email address of the person"}}},
  "hours": {"type": "number", "description": "Estimated effort in hours", "minimum": 0},
  "public": {"type": "boolean", "description": "True if all may see it", "default": false}}}}}
""")
