"""What the notebooks of the course use beside the library.

predictions.py  questions before an answer (`predict`), question.py: how they look in a notebook
notebooks.py    the notebooks as programs, to record what they ask
doctor.py       can a model call tools?
security.py     an experiment: which models follow orders in results and descriptions, and what helps?
attacks.py      the orders (attacks.toml), and scripted models that follow them, or do not
office.py       the tools and tasks (office.toml) among which they stand
"""
