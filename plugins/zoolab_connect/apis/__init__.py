"""The APIs beside Chat Completions, one file each; `zoolab.apis.interface` says what an API must have.

responses.py  OpenAI's Responses
anthropic.py  Messages
gemini.py     generateContent
ollama.py     /api/chat
order.py      keeps the order of the parts of a message, for those that have one

What they share: translated.py has the steps. messages.py reads messages in Chat Completions' form, plain.py
makes them plain, and streams.py reads streams.
"""
