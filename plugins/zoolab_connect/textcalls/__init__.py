"""Calls in text, as further families of models write them: a file each, with a function that reads them.

gemma.py     call:name{key:value} of FunctionGemma and Gemma 4
minimax.py   tags inside of tags, each with a mark before it: MiniMax M3
"""
