"""A till whose tools count what they do, and drawn runs with it: for tests of tapes and of what differs."""

from hypothesis import strategies as st

from zoolab.errors import LoopError
from zoolab.models.scripted import Scripted
from zoolab.records import Decision, Limits
from zoolab.runs import run
from zoolab.steps.define import tool


class Till:
    """Tools that count what they are paid, and a clock that is asked again and again."""

    def __init__(self):
        self.paid, self.looked = [], 0

        @tool(risk="high")
        def pay(euros: int) -> str:
            """Pay."""
            self.paid.append(euros)
            if euros > 100:
                raise ValueError("too much")
            return f"paid {euros}"

        @tool
        def look() -> int:
            """Look at the till."""
            self.looked += 1
            return self.looked

        @tool
        def agent() -> object:
            """Let a sub-agent pay 3."""
            return self.run([PAY_3], "Paid.")

        self.tools = [pay, look, agent]

    def run(self, *replies, **options):
        """A run in which a person allows what costs less than 1,000; also one that an error ended."""
        ask = lambda step: Decision("once" if step.record.arguments["euros"] < 1_000 else "deny")  # noqa: E731
        try:
            return run("Go.", self.tools, Scripted(list(replies)), ask=ask, **options)
        except LoopError as error:
            return error.trace


def looking(rounds):
    """A run of so many calls of `look`."""
    return Till().run(*[[LOOK]] * rounds, "Done.", limits=Limits(turns=rounds + 1))


def pay(euros):
    """A call of `pay`."""
    return ("pay", {"euros": euros})


LOOK, AGENT = ("look", {}), ("agent", {})
PAY_3 = pay(3)


REPLIES = st.lists(
    st.lists(
        st.one_of(
            st.sampled_from([LOOK, AGENT]),
            st.sampled_from([1, 200, 5_000]).map(pay),
            st.just(("pay", {"euros": "x"})),
            st.just(("fly", {})),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=3,
)
