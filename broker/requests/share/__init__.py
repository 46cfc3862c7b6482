"""What the handlers of share groups share: the feature, senders, reads, states."""
