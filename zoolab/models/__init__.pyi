# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.
# Those of another package come from the entry points of the groups `zoolab.models` and `zoolab.names`.

from zoolab.models.openai import OpenAIModel as OpenAIModel
from zoolab.models.replay import Replay as Replay
from zoolab.models.replay import model_for as model_for
from zoolab.models.scripted import Scripted as Scripted
from zoolab_connect.faulty import Faulty as Faulty
from zoolab_connect.providers import AnthropicModel as AnthropicModel
from zoolab_connect.providers import GeminiModel as GeminiModel
from zoolab_connect.providers import OllamaModel as OllamaModel
from zoolab_connect.providers import ResponsesModel as ResponsesModel
from zoolab_course.local import LocalModel as LocalModel
