"""The control by tools of others: a generated client and schemathesis (`make test-control`)."""
