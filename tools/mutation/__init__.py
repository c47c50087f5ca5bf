"""Small faults put into the labs' right answers: `python -m tools.mutation --help`.

A mutant that keeps all its points is either no fault at all, or shows a case that is missing.
"""
