"""A submission is read as cells of text, whatever somebody handed in."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from counting import ends, lines_of
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab_grader import Lab, grade
from zoolab_grader.isolation import Plain
from zoolab_grader.outputs import without_outputs
from zoolab_grader.submissions import MAX_BYTES, MAX_CELLS, MAX_CODE, read_cells
from zoolab_grader.worker.cells import without_magics
from zoolab_grader.worker.notebook import Notebook


def notebook(*sources: object, kind: str = "code") -> str:
    """A notebook as Jupyter saves it."""
    return json.dumps({"cells": [{"cell_type": kind, "source": source} for source in sources]})


def saved(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return path


def test_a_notebook_gives_its_code_cells(tmp_path):
    text = json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "source": "# Words"},
                {"cell_type": "code", "source": ["x = 1\n", "y = 2"]},
                {"cell_type": "code", "source": ""},
                {"cell_type": "code", "source": "%matplotlib inline\nz = 3"},
            ]
        }
    )
    assert read_cells(saved(tmp_path, "a.ipynb", text)) == [
        "x = 1\ny = 2",
        "%matplotlib inline\nz = 3",
    ]


def test_a_script_without_marks_is_one_cell(tmp_path):
    assert read_cells(saved(tmp_path, "a.py", "\ufeffx = 1\n")) == ["x = 1\n"]


def test_a_script_with_marks_is_as_many(tmp_path):
    text = '"""Words."""\n# %%\nx = 1\n\n# %% [markdown]\n# x = 9\n# %% name\ny = 2\n# %%\n'
    assert read_cells(saved(tmp_path, "a.py", text)) == ['"""Words."""\n', "x = 1\n\n", "y = 2\n"]


LIGHT = "# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n#       format_name: light\n# ---\n"
DATABRICKS = "# Databricks notebook source\n# MAGIC %md\n# MAGIC # T\n\n# COMMAND ----------\n\n"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("# -*- coding: utf-8 -*-\n#%% a\nx = 1\n#%%%\ny = 2\n#%% [markdown]\nWords", ["x = 1\n", "y = 2\n"]),
        ("#!/usr/bin/env python\n# coding: utf-8\n\n# # T\n\n# In[1]:\nx = 1\n# In[ ]:\ny", ["x = 1\n", "y"]),
        ("# %% [md]\nWords\n# %%\nx = 1", ["x = 1"]),
        ("#%%\r\nx = 1\r\n#%%\r\ny = 2", ["x = 1\n", "y = 2"]),
        (
            f"{LIGHT}\n# # T\n\nimport x\n\nif x:\n\n    y = 1\n\n# + tags=[]\na = 1\n\nb = 2\n# -\n\nc = 3",
            ["import x", "if x:\n\n    y = 1\n\n", "a = 1\n\nb = 2\n", "c = 3"],
        ),
        ("x = 1\n\n# + more\ny = 2\n# -\n", ["x = 1\n\n# + more\ny = 2\n# -\n"]),
        (
            f"{DATABRICKS}# MAGIC %python\n# MAGIC x = 1\n\n# COMMAND ----------\n\ny = 2\n",
            ["\nx = 1", "y = 2"],
        ),
        (f"{DATABRICKS}# MAGIC %%time\n# MAGIC x = 1", ["%%time\nx = 1"]),
    ],
)
def test_a_notebook_that_became_a_script_keeps_its_cells(text, cells, tmp_path):
    assert read_cells(saved(tmp_path, "a.py", text)) == cells


def test_a_notebook_of_marimo_is_named(tmp_path):
    text = "import marimo\n\napp = marimo.App()\n\n@app.cell\ndef _():\n    x = 1\n    return\n"
    with pytest.raises(InvalidInput, match=r"a.py is a marimo notebook.*`marimo export ipynb a.py -o"):
        read_cells(saved(tmp_path, "a.py", text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ipynb", "no JSON"),
        ("a.ipynb", "[]"),
        ("a.ipynb", "{}"),
        ("a.ipynb", '{"cells": 5}'),
        ("a.ipynb", '{"cells": [5]}'),
        ("a.ipynb", '{"cells": [{"cell_type": "code", "source": [1]}]}'),
        ("a.ipynb", "[" * 100_000),
        ("a.ipynb", '{"cells": ' + "1" * 5000 + "}"),
        ("a.ipynb", notebook(*["x"] * (MAX_CELLS + 1))),
        ("a.py", "#" * (MAX_CODE + 1)),
        ("a.py", b"\xff\xfe\x00"),
        ("a.py", b"#" * (MAX_BYTES + 1)),
        ("a.py", b"# coding: rot13\nx = 1"),
        ("a.py", b"# coding: undefined\nx = 1"),
        ("a.py", b"# coding: Punycode\n" + b"a" * 1_000_000 + b"-" + b"a" * 1_000_000),
        ("a.py", b"# coding: idna\n" + b"a" * 60),
    ],
)
def test_what_cannot_be_read_is_said(name, text, tmp_path):
    with pytest.raises(InvalidInput) as caught:
        read_cells(saved(tmp_path, name, text))
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (f"{notebook('x = 1')[:-1]}\n<<<<<<< HEAD\n", "line 2 is a mark of git"),
        (notebook("x = 1")[:-9], "it is no JSON from line 1, column 44 on"),
        ("{]", "it is no JSON from line 1, column 2 on"),
        ("[" * 100_000, "it is nested too deep"),
        ('{"cells": ' + "1" * 5000 + "}", "a number in it is too long"),
        ('{"nbformat": 3, "worksheets": [{"cells": []}]}', "it is of a format of before 2015"),
        ('{"cells": 5}', "its cells are not there"),
    ],
)
def test_what_is_wrong_with_a_notebook_is_said(text, why, tmp_path):
    with pytest.raises(InvalidInput, match=f"^a.ipynb cannot be read as a notebook: {why}"):
        read_cells(saved(tmp_path, "a.ipynb", text))


@pytest.mark.parametrize("name", ["a.ipynb", "a.py"])
@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04\0\0\0", "a zip archive; unpack it first"),
        (b"PK\x03\x04\xff\xfe", "a zip archive"),
        (b"%PDF-1.5\n%\xe2\xe3", "a PDF document"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of git-lfs"),
        (b"\0" * 100, "only zero bytes"),
        (b"\n<!DOCTYPE html>\n<html>", "a web page; download the notebook itself"),
        (b"<html lang='en'>", "a web page"),
    ],
)
def test_what_is_something_else_is_named(data, what, name, tmp_path):
    with pytest.raises(InvalidInput, match=rf"^{name} .*is {what}"):
        read_cells(saved(tmp_path, name, data))


def test_a_wrong_suffix_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"it is Python code; name the file .py; expected"):
        read_cells(saved(tmp_path, "a.ipynb", '"""A loop."""\n\nimport json\n'))
    with pytest.raises(InvalidInput, match=r"^a.py is a notebook; expected Python code; name it .ipynb"):
        read_cells(saved(tmp_path, "a.py", notebook("x = 1")))


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.ipynb", "no JSON"), ("a.ipynb", notebook()), ("a.py", ""), ("missing.py", None)],
)
def test_what_cannot_be_read_is_graded_with_nothing(name, text, tmp_path):
    path = tmp_path / name if text is None else saved(tmp_path, name, text)
    lab = Lab("l", "L", ())
    made = grade(lab, path, Plain(lab))
    assert made.points == 0
    assert len(made.notes) == 1


@pytest.mark.parametrize(
    "cell",
    [
        "x = (7\n    % 4)\n",
        'x = len("""\n%time\n!ls\n""") - 8\n',
        "x = 7 \\\n% 4\n",
        "a, b, c = 1, 2, 3\nx = 3\na = b != c\n",
    ],
)
def test_a_line_of_python_that_begins_like_a_magic_is_kept(cell):
    notebook = Notebook({})
    notebook.run(cell, 1)
    assert notebook.names["x"] == 3


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("!pip install x", "pass"),
        ("if a:\n    !ls\n    x = 1", "if a:\n    pass\n    x = 1"),
        ("%%bash\nrm -rf /", "\n"),
        ("%%time\n%load_ext x\ny = 1", "pass\npass\ny = 1"),
        ("\n%%html\n<b>", "\n\n"),
        ("%%time\n%%time\nx = 1", "pass\npass\nx = 1"),
        (
            "print?\nstr.join??\n?print\nfiles = !ls\nx = %time 1",
            "pass\npass\npass\nfiles = __zoolab_output__(0)\nx = (1)",
        ),
    ],
)
def test_magics_do_nothing(cell, python):
    assert without_magics(cell) == python


@pytest.mark.parametrize(
    "text",
    [
        "-" * 20_000 + "1\n%x",
        "(" * 20_000 + "\n%x",
        "\n%" * 10_000,
        "\n \t" * 10_000 + "%x",
        "x" * 1_000_000 + "\n%x",
        "x =" + " " * 1_000_000 + "\n%x",
        "%%time\n" * 4_000,
    ],
)
def test_a_cell_that_is_made_to_be_slow_costs_nothing(text):
    with ends():
        assert len(without_magics(text)) <= len(text) + len("pass") * text.count("\n") + 1
        assert lines_of(lambda: without_magics(text)) < 5_000 + 60 * len(text)


def test_the_grader_compiles_nothing_of_a_submission(tmp_path):
    """Each `finally` doubles the code that is compiled: 2 kB of text become gigabytes."""
    within = "".join(f"{' ' * depth}try: pass\n{' ' * depth}finally:\n" for depth in range(12))
    cell = f'"""\n%x\n"""\n{within}{" " * 12}{";".join(["x"] * 1_000)}\n'
    path = saved(tmp_path, "a.ipynb", notebook(cell))
    tracemalloc.start()
    try:
        read_cells(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@given(st.text(alphabet="# %\n![markdown]x=1'\"\\", max_size=200))
def test_any_script_gives_cells(text):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        cells = read_cells(saved(Path(folder), "a.py", text))
    assert all(isinstance(cell, str) for cell in cells)
    assert len("".join(cells)) <= len(text) + len("pass  # ") * (text.count("\n") + 1)


def with_outputs(text: str) -> bytes:
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [{"text": text, "data": {"outputs": ["]"]}}]}
    after = {"cell_type": "code", "outputs": [], "source": 'y = {"outputs": [1]}'}
    return json.dumps({"cells": [cell, after], "metadata": {"outputs": [1]}}).encode()


def test_outputs_do_not_make_a_notebook_too_large(tmp_path):
    path = saved(tmp_path, "a.ipynb", with_outputs("x" * (MAX_BYTES + 1)))
    assert read_cells(path) == ["x = 1", 'y = {"outputs": [1]}']


@pytest.mark.parametrize("as_list", [False, True])
def test_pictures_and_widgets_do_not_make_a_notebook_too_large(as_list, tmp_path):
    large = "A" * (MAX_BYTES // 2)
    picture = f"![x](data:image/png;base64,{large}) words"
    code = f"x = 'data:image/png;base64,{'A' * 2000}'"
    text: dict[str, object] = {"cell_type": "markdown", "attachments": {"a.png": {"image/png": large}}}
    text["source"] = ["# T\n", picture] if as_list else picture
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": {"x": [large]}}}
    cells = [
        {"source": code, "cell_type": "code"},
        text,
        {"cell_type": "code", "source": [code], "outputs": []},
    ]
    path = saved(tmp_path, "a.ipynb", json.dumps({"cells": cells, "metadata": {"widgets": widgets}}))
    assert read_cells(path) == [code, code]
    left = json.loads(without_outputs(path.read_bytes()))
    assert left["metadata"] == {"widgets": {}}
    assert left["cells"][1]["attachments"] == {}
    assert "".join(left["cells"][1]["source"]).endswith("![x]() words")


@given(st.text(alphabet='"\\\\[]{},: outputs\né', max_size=60))
def test_only_the_outputs_of_cells_are_taken_out(text):
    left = json.loads(without_outputs(with_outputs(text)))
    assert [cell["outputs"] for cell in left["cells"]] == [[], []]
    assert [cell["source"] for cell in left["cells"]] == ["x = 1", 'y = {"outputs": [1]}']
    assert left["metadata"] == {"outputs": [1]}


@given(st.binary(max_size=80))
def test_what_is_no_notebook_is_read_without_an_error(data):
    assert len(without_outputs(data)) <= len(data) + 2
