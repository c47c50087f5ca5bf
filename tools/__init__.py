"""What developers of zoolab run; nothing here is in the wheel.

datasets   makes the data sets and the recordings that zoolab ships: `python -m tools.datasets --help`
"""
