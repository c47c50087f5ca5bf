# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab.models.openai import OpenAIModel as OpenAIModel
from zoolab.models.replay import Replay as Replay
from zoolab.models.replay import model_for as model_for
from zoolab.models.scripted import Scripted as Scripted
