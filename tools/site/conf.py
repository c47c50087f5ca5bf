"""Settings of the web site, read by Sphinx."""

from importlib.metadata import version as version_of

from tools.site.hooks import setup as setup

project = "zoolab"
author = "zoolab contributors"
copyright = "zoolab contributors. Text: CC BY 4.0. Code: Apache License 2.0"
version = release = version_of("zoolab")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
suppress_warnings = ["mystnb.unknown_mime_type"]

# What runs is told by the command line.
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
# A page has no kernel: what a widget says without one goes before the widget.
nb_mime_priority_overrides = [
    ("html", "text/html", 0),
    ("html", "application/vnd.jupyter.widget-view+json", 90),
]
# Widgets would be loaded from other hosts, and do nothing without a kernel.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Docstrings write names in single backticks.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False

html_theme = "furo"
html_title = "zoolab"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
