# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab.models.faulty import Faulty as Faulty
from zoolab.models.local import LocalModel as LocalModel
from zoolab.models.openai import OpenAIModel as OpenAIModel
from zoolab.models.providers import AnthropicModel as AnthropicModel
from zoolab.models.providers import GeminiModel as GeminiModel
from zoolab.models.providers import OllamaModel as OllamaModel
from zoolab.models.providers import ResponsesModel as ResponsesModel
from zoolab.models.replay import Replay as Replay
from zoolab.models.replay import model_for as model_for
from zoolab.models.scripted import Scripted as Scripted
