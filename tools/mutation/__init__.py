"""Small faults put into the labs' right answers and into parts of zoolab: `python -m tools.mutation --help`.

A mutant that nothing notices is either no fault at all, or shows a case or a test that is missing.
"""
