"""Language models. The only package that knows litellm.

litellm is imported at the first use (it takes seconds) and told to look nothing up on the network.
Keys stay in the environment: nothing here logs or returns one, and replies are searched for them.
"""

from agent.models.catalogue import Prices
from agent.models.chain import LiteLLMModel
from agent.models.messages import ChatModel, Message, Reply
from agent.models.options import Options

__all__ = ["ChatModel", "LiteLLMModel", "Message", "Options", "Prices", "Reply"]
