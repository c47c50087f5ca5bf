"""What the notebooks of the course use beside the library.

predictions.py  questions before an answer (`predict`)
progress.py     how far a student has come
notebooks.py    the notebooks as programs, to record what they ask
doctor.py       can a model call tools?
security.py     an experiment: which models follow orders (attacks.toml) in results and descriptions, and what
                helps, in an office with tools and tasks (office.toml)
"""
