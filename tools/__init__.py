"""What developers of zoolab run; nothing here is in the wheel.

datasets         makes the data sets and the recordings that zoolab ships: `python -m tools.datasets --help`
notebooks        makes the notebooks from their .py files: `python -m tools.notebooks`
recordings       what a capable model is asked, and what it said
mutation         puts small faults into right answers of a lab, or into a part of zoolab that its tests have
                 to notice: `python -m tools.mutation l1`, `python -m tools.mutation policy`
wrong_answers    the right and wrong answers that the labs are tested with
choosing         which wrong answers a lab keeps: at most three for a case
"""
