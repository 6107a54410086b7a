"""Models by name: providers, scripts, agents that stand in. The rule: a provider's library is imported when asked."""

from drumline.models.choice import ChosenModels, open_models
from drumline.profiles import McpServer

__all__ = ["ChosenModels", "McpServer", "open_models"]
