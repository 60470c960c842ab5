"""Leave the console script out of wheels: it needs the checkout of an editable install."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ScriptsOnlyFromACheckout(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        if version == "standard":
            self.metadata.core.scripts.clear()
