"""What has failed on the oldest or the newest versions of libraries: the widget is embedded and read."""

from io import StringIO

import anywidget
from ipywidgets.embed import embed_minimal_html

from zoolab import Scripted, run
from zoolab.show.inspector.inspector import Inspector

#: What anywidget and traitlets mean to be replaced, or make for each class.
MEANT = {"_repr_mimebundle_", "_descriptors", "_instance_inits", "_traits", "_trait_default_generators"}
MEANT |= {"_all_trait_default_generators", "_static_immutable_initial_values"}


def test_the_inspector_replaces_no_method_of_the_widget():
    own = {name for name in vars(Inspector) if not name.startswith("__")}
    assert own & set(dir(anywidget.AnyWidget)) - MEANT == set()


def test_an_inspector_can_be_embedded_in_a_page():
    inspector = run("Hi", [], Scripted(["Hello"])).inspect()
    page = StringIO()
    embed_minimal_html(page, views=[inspector])
    assert inspector.model_id in page.getvalue()
    assert inspector.get_state()["overview"] == inspector.overview
