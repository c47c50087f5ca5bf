"""The web site: the course with its outputs, the labs, the data cards, how-to pages and the reference."""
