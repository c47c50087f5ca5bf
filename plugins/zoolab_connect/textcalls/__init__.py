"""Calls in text, as further families of models write them: a file each, with a function that reads them.

llama.py     JSON with `parameters`: Llama 3, Cohere
marked.py    JSON between marks, with the name inside (Hermes, Qwen, Apertus), or after a head with the name
             (Mistral, Kimi K2, DeepSeek until 3.1, gpt-oss, Functionary)
gemma.py     call:name{key:value} of FunctionGemma and Gemma 4
minimax.py   tags inside of tags, each with a mark before it: MiniMax M3
pythonic.py  [get_weather(city="Oslo")] of Llama 4 and LFM2, the same as code of Gemma 3 and OLMo 3,
             name.call(...) of Llama 3
tagged.py    names and values in tags: Qwen3-Coder, GLM, MiniMax M2, DeepSeek since 3.2, Muse, Kimi K3
values.py    values without quotes, typed by the schema of the tool
"""
