"""Authentication of clients: SASL mechanisms and the order of their messages, without I/O.

`authenticator.py` is the machine of a login: bytes in, a `Step` or an `End` out;
`broker/net/logins.py` runs it on a connection. Each mechanism has a module (`plain.py`, `scram.py`,
`oauthbearer.py`), and so have certificates and key stores. The client's side of SCRAM is here, too,
beside its broker's side.

May enter: checks of who a client is. Not: what it may do, which `broker/runtime/authorizer.py`
decides. Begin with `authenticator.py`.
"""
