"""The oracle: judges a ledger of what applications saw against the logs of a cluster."""
