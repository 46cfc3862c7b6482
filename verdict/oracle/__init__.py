"""The oracle: judges a ledger of what applications saw against the logs of a cluster."""

from .history import read_history as read_history
from .oracle import judge_history as judge_history
