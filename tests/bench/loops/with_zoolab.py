"""The loop of zoolab, recorded."""

import openai
import talking

from zoolab import Limits, run, tool
from zoolab.models import OpenAIModel

ADD = tool(talking.add)
MODEL = OpenAIModel(talking.MODEL, client=openai.OpenAI(api_key=talking.KEY, base_url=talking.url()))


def go(prompt: str, rounds: int) -> object:
    """Walk to the end."""
    return run(prompt, [ADD], MODEL, limits=Limits(turns=rounds + 1)).answer


talking.serve(go, "zoolab", "openai")
