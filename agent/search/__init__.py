"""The search: parents by verdict, repairs of failures, and the rules by which it stops."""

from agent.search import stops
from agent.search.history import History, Parent, Search
from agent.search.policies import Beam, Greedy
from agent.search.repairing import Repairing
from agent.search.standing import GAIN, best, reached, shortlist, speed_of_light

__all__ = [
    "GAIN",
    "Beam",
    "Greedy",
    "History",
    "Parent",
    "Repairing",
    "Search",
    "best",
    "reached",
    "shortlist",
    "speed_of_light",
    "stops",
]
