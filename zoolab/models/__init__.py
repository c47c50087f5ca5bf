"""Models, behind one method each: `model(request) -> Reply`.

Scripted      says what a script tells it
OpenAIModel   asks any OpenAI-compatible endpoint
ResponsesModel, AnthropicModel, GeminiModel, OllamaModel
              ask these APIs in their own forms
Replay        answers from a recording, through the real openai client
LocalModel    runs models on this machine
Faulty        wraps any of them and injects faults
model_for     one of these, as a notebook's LIVE switch says
"""

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__, "zoolab.plugins")
