"""Handlers of ACLs, delegation tokens, SCRAM credentials and logins."""
