"""Share groups (KIP-932): a kind of group whose members may share a partition."""
