"""What running a tool needs beside the call itself.

awaited.py   the event loop of async tools and models
printed.py   what a tool prints, kept beside its value
"""
