"""Handlers of share groups (KIP-932), and of the state that their coordinator keeps."""
