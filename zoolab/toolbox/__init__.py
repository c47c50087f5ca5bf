"""Ready tools, one file a domain, each on a small world that is the same every time."""
