"""The simulations, each with its world, its planted bugs, and what has to happen in it.

The number of an event is the least in a hundred seeds; with fewer the test says little.
"""

from __future__ import annotations

from typing import Final

from . import mutations, world
from .groups import mutations as mutations_of_groups
from .groups import world as world_of_groups
from .logins import mutations as mutations_of_logins
from .logins import world as world_of_logins
from .share_groups import mutations as mutations_of_share_groups
from .share_groups import world as world_of_share_groups
from .simulation import Simulation
from .streams_groups import mutations as mutations_of_streams_groups
from .streams_groups import world as world_of_streams_groups

TRANSACTIONS: Final = Simulation(
    "transactions",
    "Transactions are atomic, and none is lost, duplicated or stuck.",
    world.World,
    mutations.MUTATIONS,
    happens={
        "AddPartitionsToTxn": 200,
        "TxnOffsetCommit": 100,
        "WriteTxnMarkers": 500,
        "a message doubled": 500,
        "a message late": 1000,
        "a message lost": 200,
        "broker crashes": 100,
        "broker crashes opening": 2,
        "client sees aborted": 80,
        "client sees committed": 400,
        "client sees nothing": 1,
        "clock jumps": 30,
        "coordinator fenced": 1,
        "duplicate batch": 30,
        "epoch bumped by its owner": 5,
        "append refused": 30,
        "crowd": 20,
        "expired": 5,
        "leader moves": 50,
        "markers will be refused": 100,
        "prepared transaction kept": 20,
        "producer fenced": 10,
        "producer id rotated": 5,
        "program killed": 50,
        "program sleeps": 50,
        "timed out": 50,
        "wall clock steps": 50,
    },
)
GROUPS: Final = Simulation(
    "groups",
    "Groups converge, no partition has two owners, and no offset is lost.",
    world_of_groups.World,
    mutations_of_groups.MUTATIONS,
    happens={
        "ConsumerGroupHeartbeat": 2_000,
        "JoinGroup": 1_000,
        "LeaveGroup": 20,
        "OffsetCommit": 1_000,
        "TxnOffsetCommit": 300,
        "a message doubled": 500,
        "a message late": 1_000,
        "a message lost": 200,
        "append refused": 20,
        "new assignment": 500,
        "became a consumer group": 10,
        "became classic": 10,
        "commit refused": 30,
        "coordinator crashes": 150,
        "instance fenced": 10,
        "member killed": 200,
        "member lost": 150,
        "member stalls": 200,
        "member has to rejoin": 150,
        "append split": 3,
        "append too large": 20,
        "slice is over": 20,
        "much committed": 5,
        "offsets expired": 5,
        "offsets forgotten": 10,
        "parked request answered": 500,
        "partitions given up": 100,
        "rebalanced": 300,
        "timed out": 400,
        "topic deleted": 20,
        "topic grows": 60,
        "topic made": 30,
        "transaction ended": 300,
        "wall clock steps": 60,
        "zombie refused": 10,
    },
)
SHARE_GROUPS: Final = Simulation(
    "share-groups",
    "Members share all partitions evenly after all faults.",
    world_of_share_groups.World,
    mutations_of_share_groups.MUTATIONS,
    happens={
        "a message doubled": 300,
        "a message late": 600,
        "a message lost": 150,
        "append refused": 80,
        "coordinator crashes": 100,
        "group deleted": 3,
        "heartbeat": 4_000,
        "heartbeat refused": 200,
        "member dies": 30,
        "member has to rejoin": 20,
        "member leaves": 60,
        "member stalls": 60,
        "offsets altered": 2,
        "offsets deleted": 2,
        "state fails": 40,
        "state initialized": 200,
        "subscription changes": 60,
        "topic deleted": 20,
        "topic grows": 20,
        "topic made": 20,
    },
)
STREAMS_GROUPS: Final = Simulation(
    "streams-groups",
    "Members share all tasks after all faults.",
    world_of_streams_groups.World,
    mutations_of_streams_groups.MUTATIONS,
    happens={
        "a message doubled": 300,
        "a message late": 600,
        "a message lost": 150,
        "append refused": 80,
        "coordinator crashes": 100,
        "group deleted": 20,
        "heartbeat": 4_000,
        "group rebalances": 500,
        "heartbeat refused": 200,
        "instance restarts": 25,
        "internal topic fails": 20,
        "internal topic made": 100,
        "member dies": 30,
        "member has to rejoin": 100,
        "member leaves": 60,
        "member stalls": 60,
        "source grows": 40,
        "source made": 20,
        "standbys change": 100,
        "status ASSIGNMENT_DELAYED": 200,
        "status INCORRECTLY_PARTITIONED_TOPICS": 200,
        "status MISSING_INTERNAL_TOPICS": 100,
        "status MISSING_SOURCE_TOPICS": 500,
        "tasks given up": 100,
        "topic deleted": 40,
    },
)
LOGINS: Final = Simulation(
    "logins",
    "Only right secrets log in, and nothing is served outside a session.",
    world_of_logins.World,
    mutations_of_logins.MUTATIONS,
    happens={
        "another user refused": 10,
        "closed": 1_000,
        "credentials changed": 400,
        "login by OAUTHBEARER": 100,
        "login by PLAIN": 200,
        "login by SCRAM-SHA-256": 100,
        "login by SCRAM-SHA-512": 100,
        "re-authentication": 50,
        "request served": 500,
        "sends a cut frame": 100,
        "session is over": 50,
        "wall clock steps": 100,
        "wrong secret refused": 300,
    },
)
SIMULATIONS: Final = {
    each.name: each for each in (TRANSACTIONS, GROUPS, SHARE_GROUPS, STREAMS_GROUPS, LOGINS)
}
