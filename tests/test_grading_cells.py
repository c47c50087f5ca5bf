"""Cells are read as IPython reads them: compared with IPython itself, over odd cells, drawn ones too."""

from __future__ import annotations

import ast
import builtins
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zoolab_grader.worker.cells import OUTPUT, read_cell
from zoolab_grader.worker.notebook import Notebook, Nothing, Shell, importing

pytest.importorskip("IPython")


class Harmless(ast.NodeTransformer):
    """Puts in the place of what IPython would run what the grader puts there."""

    def visit_Expr(self, node: ast.Expr) -> Any:
        called = _asked_of_ipython(node.value)
        if called is None:
            return self.generic_visit(node)
        name, args = called
        if name == "run_line_magic" and args[0] in ("time", "prun"):
            return _body_of(args[1].removeprefix("-q ")) or ast.Pass()
        if name == "run_cell_magic":
            if args[0] not in ("time", "prun", "capture") or (args[0] == "time" and args[1]):
                return []
            first: list[ast.stmt] = [ast.Pass()]
            if args[0] == "capture" and args[1].isidentifier():
                first = ast.parse(f"{args[1]} = {OUTPUT}(0)").body
            return [*first, *_body_of(args[2])]
        return ast.Pass()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return self.visit_Assign(node)

    def visit_Assign(self, node: Any) -> Any:
        called = None if node.value is None else _asked_of_ipython(node.value)
        if called is not None:
            name, args = called
            value = ast.parse(f"{OUTPUT}(0)" if name == "getoutput" else "None", mode="eval").body
            if name == "run_line_magic" and args[0] == "time":
                inner = next(iter(_body_of(args[1])), None)
                value = inner.value if isinstance(inner, ast.Expr) else value
            node.value = value
        return node


def _asked_of_ipython(node: ast.expr) -> tuple[str, list[Any]] | None:
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("get_ipython()."):
        return ast.unparse(node.func).removeprefix("get_ipython()."), [
            ast.literal_eval(each) for each in node.args
        ]
    return None


def _body_of(cell: str) -> list[Any]:
    from IPython.core.inputtransformer2 import TransformerManager

    return Harmless().visit(ast.parse(TransformerManager().transform_cell(cell))).body


def theirs(cell: str) -> ast.Module | None:
    """What IPython makes of a cell; None if that, or what a magic in it would run, is no Python."""
    try:
        return ast.Module(_body_of(cell), [])
    except (SyntaxError, ValueError):
        return None


def ours(cell: str) -> ast.Module | None:
    try:
        tree = ast.parse(read_cell(cell).code)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == OUTPUT:
            node.args = [ast.Constant(0)]
    return tree


def told(tree: ast.Module | None) -> str:
    """A tree without the statements that do nothing; a block of nothing else keeps one."""
    if tree is None:
        return "no Python"
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [each for each in block if not isinstance(each, ast.Pass)])
    return ast.dump(tree)


CELLS = [
    '!true\nT = ("Error: %s"\n    % 1)',
    "%matplotlib inline\nn = (7\n  % 4)",
    '!true\nT = """\n%d calls\n!important\n? what\nreally?\nx = !y\n"""',
    "!echo a \\\n  b\nok = 1",
    "%time \\\n  x = 1\nok = 1",
    '!true\nfrom __future__ import annotations\nd = {}\nd["a"] = !ls\nc.a = !ls -l "it\'s"',
    "a, *b = !echo hi",
    "x: list = !ls # all",
    "%%prun -q\nok = 1",
    "\n\n%%time\n\n!ls\nok = 1",
    "%%capture out\nok = 1",
    "%%capture --no-stderr\nok = 1",
    "%%timeit\nok = 1",
    "%%bash\nls (",
    "%%time x = 1\nok = 1",
    "%%time\n%%time\nok = 1",
    "# note\n%%time\nok = 1",
    "len?\nos.path.join??\n?x\n??y\nd[0]?\n%time?\n!ls?\nx = !ls?",
    "a = 1; len?\nb = 2",
    ",f a b\n;g a b\n/h 1 2",
    "%time y = 5\n%time for i in x: print(i)\nz = %time f(1)\nz = %time a == b",
    "def f():\n    !ls\n    x = !ls\n    %time y = 5\n    return x",
    "if True: x = !ls\nok = 1",
    ">>> x = 1\n>>> def f():\n...     return 2\n>>> f()",
    "    >>> x = 1",
    "In [1]: x = 1\n   ...: y = 2",
    "    x = 1\n    y = 2",
    'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1',
    "x = f'{v!r}'\ny = x != 3",
    "x = [\n 'what?',\n]",
    "x = !ls \\\n  -l\ny = 1",
    "x = 'it\n!ls",
    "x = (\n!ls",
    "!!ls\nok = 1",
    "größe = !ls",
    "\tx = 1\n\t!ls",
    "if x:\n\t!ls\nelse:\n  %y\nz = 1",
    "x = 1\\\n  + 2\n!ls",
    "@f\n!ls\n",
    "x = 1 # what?\n!ls # what",
    "x += !ls",
    "a = b = !ls",
    "f(a=!ls)",
    "%time\n%time   x = 1",
    "% time x = 1",
    "%%\nx = 1",
    "",
    "\n",
    "# only a comment",
    "!ls\r\nx = 1\r\n",
]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_read_as_ipython_reads_it(cell):
    assert told(ours(cell)) == told(theirs(cell))


LINES = st.sampled_from(
    [
        *(
            "x = 1",
            "    y = 2",
            "def f(a):",
            "if x:",
            "    return a",
            "else:",
            "",
            "   ",
            "# note?",
            "    # %d",
        ),
        *(
            "!ls",
            "    !ls -l \\",
            '!echo "it\'s"',
            "%time x = 1",
            "%magic a?",
            "    %time y",
            "!!ls",
            "%%time",
        ),
        *("z = !ls", "d['a'] = %who", "a, b = !ls", "    w = %time f(1)", "x: int = !ls \\", "k = v = !ls"),
        *(
            "len?",
            "  ??f",
            "f(x)?",
            "a.b[1]??",
            "a = 1; f?",
            "x if y else z?",
            "?",
            ",f a b",
            "/f 1",
            ";f a",
            "/ 1",
        ),
        *(
            'T = """',
            "'''",
            '"""',
            "%d calls",
            "(",
            ")",
            "[1,",
            "]",
            "f'{x!r}'",
            "x = (1",
            "% 2)",
            "\\",
            "y = 1 \\",
        ),
        *("from __future__ import annotations", "class C: pass", "x != y", "lambda: x", "0x", "$", "é = 1"),
        *("...", "=!ls", "x =", "% y", "x ==!y", "@f", "\t!ls", "match x:", "    case 1: pass"),
    ]
)
# What IPython does to the text of a student between quotes, and the grader does not.
HEADS = st.sampled_from(
    ["", "", "", "\n\n", "%%time\n", "%%capture out\n", "%%prun -q\n", "%%bash\n", "In [3]: "]
)


@given(HEADS, st.lists(LINES, max_size=8), st.sampled_from(["", "    ", "\t"]))
@settings(max_examples=300, deadline=None)
@example("", ["x = !ls \\", "%magic a?", "x = 1"], "")
def test_any_cell_is_read_as_ipython_reads_it(head, lines, indent):
    cell = head + "\n".join(indent + line for line in lines)
    assert told(ours(cell)) == told(theirs(cell)), cell


@given(st.text(alphabet="%!?,;/ \t\n\\'\"()[]{}=xf#>.:0é\f\r", max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_keeps_its_lines(text):
    read = read_cell(text)
    as_lines = text.replace("\r\n", "\n").replace("\r", "\n")
    assert read.code.count("\n") == as_lines.count("\n")
    assert sum(each.lines for each in read.left_out) <= as_lines.count("\n") + 1


#: Cells that set `ok` to True where they run, as in a notebook.
RUN = [
    'd = {}\nd["a"] = !echo hi\nok = d["a"] == []',
    "a, *b = !echo hi\nok = (a, b) == ('', [])",
    'x = !nproc\nok = x[0] == x.n == "" and not x[1:] and x.grep("a") == []',
    "%%capture out\nprint(1)\nok = out.stdout == '' and out.show() is None",
    "%time x = 5\nok = x == 5",
    "x = %time 2 + 3\nok = x == 5",
    "%env A_VARIABLE=1\nimport os\nok = os.environ.pop('A_VARIABLE') == '1'",
    'get_ipython().user_ns["ok"] = True',
    "get_ipython().run_line_magic('time', 'ok = True')",
    "get_ipython().run_cell_magic('time', '', 'ok = True')",
    "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('ls')\nok = True",
    "x = get_ipython().getoutput('ls')\nok = x == []",
    "from IPython import get_ipython\nok = True",
    "ok = True\nreturn 5",
    "x = 1\nfrom __future__ import annotations\ndef f(a: unknown): pass\nok = True",
    "import asyncio\nt = asyncio.ensure_future(asyncio.sleep(0, True))\nok = await t",
    "ok = len(In) > 0 and Out == {}",
]


@pytest.mark.parametrize("cell", RUN)
def test_what_a_cell_defines_is_defined(cell):
    notebook = Notebook({"__name__": "__main__"})
    with suppress(SyntaxError):
        notebook.run(cell, 1)
    assert notebook.names["ok"] is True


def test_cells_share_an_event_loop_and_the_last_value():
    notebook = Notebook({})
    notebook.run(
        "import asyncio\nlock = asyncio.Event()\nawait asyncio.sleep(0)\nbefore = asyncio.get_running_loop()",
        1,
    )
    notebook.run("lock.set()\nawait lock.wait()\nsame = asyncio.get_running_loop() is before\n40 + 2", 2)
    notebook.run("said = _\nOut[2]\n1;", 3)
    assert (notebook.names["same"], notebook.names["said"], notebook.names["_"]) == (True, 42, 42)


def test_the_shell_of_a_submission_is_one():
    notebook = Notebook({})
    assert isinstance(notebook.names["get_ipython"](), Shell)
    assert notebook.names["get_ipython"]().anything.at.all() is None


def test_a_cell_says_what_was_left_out():
    left_out = read_cell("!pip install a \\\n  b\nx = 1\n%matplotlib inline\nx?").left_out
    assert [(each.line, each.lines) for each in left_out] == [(1, 2), (4, 1), (5, 1)]
    assert [each.text for each in read_cell("%%bash\nls\n").left_out] == ["%%bash"]
    assert read_cell("%time x = 1\n%%time").left_out[0].line == 2


#: Notebooks that set `ok` to True where they run, as in Jupyter.
FOLDERS = [
    ["%%writefile loop_mod.py\n\ndef run():\n    return 5", "from loop_mod import run\nok = run() == 5"],
    [
        "%%file ./loop_mod.py\nx = 1",
        "%%writefile -a 'loop_mod.py'\nx += 1",
        "import loop_mod as m\nok = m.x == 2",
    ],
    [
        "%%writefile loop_mod.py\nx = 1",
        "%%writefile loop_mod.py\ny = 2",
        "import loop_mod as m\nok = not hasattr(m, 'x')",
    ],
    [
        "%%writefile loop_mod.py\nraise ValueError('no')",
        "try:\n    import loop_mod\nexcept ValueError:\n    ok = True",
    ],
    [
        "%%writefile loop_mod.py\nfrom loop_two import y",
        "%%writefile loop_two.py\ny = 1",
        "import loop_mod\nok = True",
    ],
]


def run_cells(cells):
    names = {"__name__": "__main__", "display": Nothing()}
    names["__builtins__"] = {**vars(builtins), "__import__": importing(__import__, names)}
    notebook = Notebook(names)
    for number, cell in enumerate(cells, 1):
        notebook.run(cell, number)
    return notebook


@pytest.mark.parametrize("cells", FOLDERS)
def test_a_module_that_a_cell_writes_is_imported(cells):
    notebook = run_cells(cells)
    assert notebook.names["ok"] is True
    assert notebook.left_out == []


def test_a_module_belongs_to_one_notebook():
    run_cells(["%%writefile loop_mod.py\nx = 1", "import loop_mod"])
    assert run_cells(["%%writefile loop_mod.py\nx = 2", "from loop_mod import x"]).names["x"] == 2


def test_an_error_in_a_module_names_its_cell():
    with pytest.raises(ZeroDivisionError) as caught:
        run_cells(["%%writefile loop_mod.py\n# a\nx = 1 / 0", "import loop_mod"])
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno) == ("<cell 1>", 2)


def test_another_file_is_left_out():
    for head in ("%%writefile data.txt", "%%writefile my work.py", "%%writefile $name.py"):
        assert [each.text for each in read_cell(f"{head}\nx = 1\n").left_out] == [head]


def test_a_file_that_no_cell_wrote_is_not_run():
    assert [(each.line, each.text) for each in run_cells(["x = 1\n%run other.py"]).left_out] == [
        (2, "%run other.py")
    ]


#: Cells that run in Jupyter beside the work that is graded, and set `ok` to True.
BESIDE = [
    "h = display('a', display_id=True)\nh.update('b')\nok = True",
    "import IPython\nprint(IPython.__version__)\nok = True",
    "import zoolab\nprint(zoolab.__version__)\nok = True",
    "from IPython.utils.capture import capture_output\nwith capture_output() as c:\n    print(1)\nok = True",
    "ok = 'IPKernelApp' in get_ipython().config",
    "from IPython.core.interactiveshell import InteractiveShell\n"
    "InteractiveShell.instance().ast_node_interactivity = 'all'\nok = True",
    "from IPython.display import HTML\nclass Badge(HTML):\n    pass\nBadge('a').data\nok = True",
    "ok = __IPYTHON__ and _ih is In and _dh[-1] == '.' and _i == __",
    "t = %timeit -o 1 + 1\nok = t.best == 0",
    "e = %env\nok = isinstance(e, dict)",
    "from zoolab import LocalModel, Request\nfrom zoolab.lint import lint\nimport json\nok = True",
]


@pytest.mark.parametrize("cell", BESIDE)
def test_what_stands_in_for_ipython_and_zoolab_costs_no_work(cell):
    assert run_cells([cell]).names["ok"] is True


def test_an_import_of_zoolab_that_is_tried_fails_as_in_the_labs():
    cell = (
        "try:\n    from zoolab.retrieval import BM25\nexcept ImportError:\n    BM25 = None\nok = BM25 is None"
    )
    assert run_cells([cell]).names["ok"] is True


@pytest.mark.parametrize("used", ["run('Hi')", "lint.lint", "class Mine(LocalModel): pass"])
def test_a_part_of_zoolab_raises_when_it_is_used(used):
    with pytest.raises(ImportError, match="write the code yourself"):
        run_cells([f"from zoolab import LocalModel, run, lint\n{used}"])
