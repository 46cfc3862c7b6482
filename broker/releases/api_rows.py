"""The APIs that releases of Kafka offer, by a real broker of each (tests/broker/releases).

A row has an API's key, its name, and its lowest and highest version in each release of `COLUMNS`.
"""

from __future__ import annotations

from typing import Final

COLUMNS: Final = ("2.8", "2.8-zookeeper", "3.4", "3.9", "4.1", "4.2", "4.3", "4.4")

ROWS: Final = """
0  PRODUCE                                   0-9   0-9   0-9   0-11  0-13  0-13  0-13  0-13
1  FETCH                                     0-12  0-12  0-13  0-17  4-18  4-18  4-18  4-18
2  LIST_OFFSETS                              0-6   0-6   0-7   0-9   1-10  1-11  1-11  1-11
3  METADATA                                  0-11  0-11  0-12  0-12  0-13  0-13  0-13  0-13
4  LEADER_AND_ISR                            -     0-5   -     -     -     -     -     -
5  STOP_REPLICA                              -     0-3   -     -     -     -     -     -
6  UPDATE_METADATA                           -     0-7   -     -     -     -     -     -
7  CONTROLLED_SHUTDOWN                       -     0-3   -     -     -     -     -     -
8  OFFSET_COMMIT                             0-8   0-8   0-8   0-9   2-9   2-10  2-10  2-10
9  OFFSET_FETCH                              0-7   0-7   0-8   0-9   1-9   1-10  1-10  1-10
10 FIND_COORDINATOR                          0-3   0-3   0-4   0-6   0-6   0-6   0-6   0-6
11 JOIN_GROUP                                0-7   0-7   0-9   0-9   0-9   0-9   0-9   0-9
12 HEARTBEAT                                 0-4   0-4   0-4   0-4   0-4   0-4   0-4   0-4
13 LEAVE_GROUP                               0-4   0-4   0-5   0-5   0-5   0-5   0-5   0-5
14 SYNC_GROUP                                0-5   0-5   0-5   0-5   0-5   0-5   0-5   0-5
15 DESCRIBE_GROUPS                           0-5   0-5   0-5   0-5   0-6   0-6   0-6   0-6
16 LIST_GROUPS                               0-4   0-4   0-4   0-5   0-5   0-5   0-5   0-5
17 SASL_HANDSHAKE                            0-1   0-1   0-1   0-1   0-1   0-1   0-1   0-1
18 API_VERSIONS                              0-3   0-3   0-3   0-4   0-4   0-4   0-4   0-5
19 CREATE_TOPICS                             0-7   0-7   0-7   0-7   2-7   2-7   2-7   2-7
20 DELETE_TOPICS                             0-6   0-6   0-6   0-6   1-6   1-6   1-6   1-6
21 DELETE_RECORDS                            0-2   0-2   0-2   0-2   0-2   0-2   0-2   0-2
22 INIT_PRODUCER_ID                          -     0-4   0-4   0-5   0-5   0-5   0-5   0-5
23 OFFSET_FOR_LEADER_EPOCH                   0-4   0-4   0-4   0-4   2-4   2-4   2-4   2-4
24 ADD_PARTITIONS_TO_TXN                     -     0-3   0-3   0-5   0-5   0-5   0-5   0-5
25 ADD_OFFSETS_TO_TXN                        -     0-3   0-3   0-4   0-4   0-4   0-4   0-4
26 END_TXN                                   -     0-3   0-3   0-4   0-5   0-5   0-5   0-5
27 WRITE_TXN_MARKERS                         0-1   0-1   0-1   0-1   1-1   1-2   1-2   1-2
28 TXN_OFFSET_COMMIT                         -     0-3   0-3   0-4   0-5   0-5   0-5   0-6
29 DESCRIBE_ACLS                             -     0-2   0-3   0-3   1-3   1-3   1-3   1-3
30 CREATE_ACLS                               -     0-2   0-3   0-3   1-3   1-3   1-3   1-3
31 DELETE_ACLS                               -     0-2   0-3   0-3   1-3   1-3   1-3   1-3
32 DESCRIBE_CONFIGS                          0-4   0-4   0-4   0-4   1-4   1-4   1-4   1-4
33 ALTER_CONFIGS                             -     0-2   0-2   0-2   0-2   0-2   0-2   0-2
34 ALTER_REPLICA_LOG_DIRS                    0-2   0-2   0-2   0-2   1-2   1-2   1-2   1-2
35 DESCRIBE_LOG_DIRS                         0-2   0-2   0-4   0-4   1-4   1-4   1-5   1-5
36 SASL_AUTHENTICATE                         0-2   0-2   0-2   0-2   0-2   0-2   0-2   0-2
37 CREATE_PARTITIONS                         -     0-3   0-3   0-3   0-3   0-3   0-3   0-3
38 CREATE_DELEGATION_TOKEN                   -     0-2   -     0-3   1-3   1-3   1-3   1-3
39 RENEW_DELEGATION_TOKEN                    -     0-2   -     0-2   1-2   1-2   1-2   1-2
40 EXPIRE_DELEGATION_TOKEN                   -     0-2   -     0-2   1-2   1-2   1-2   1-2
41 DESCRIBE_DELEGATION_TOKEN                 -     0-2   -     0-3   1-3   1-3   1-3   1-3
42 DELETE_GROUPS                             0-2   0-2   0-2   0-2   0-2   0-2   0-2   0-3
43 ELECT_LEADERS                             -     0-2   0-2   0-2   0-2   0-2   0-2   0-2
44 INCREMENTAL_ALTER_CONFIGS                 0-1   0-1   0-1   0-1   0-1   0-1   0-1   0-1
45 ALTER_PARTITION_REASSIGNMENTS             -     0-0   0-0   0-0   0-1   0-1   0-1   0-1
46 LIST_PARTITION_REASSIGNMENTS              -     0-0   0-0   0-0   0-0   0-0   0-0   0-0
47 OFFSET_DELETE                             0-0   0-0   0-0   0-0   0-0   0-0   0-0   0-0
48 DESCRIBE_CLIENT_QUOTAS                    -     0-1   0-1   0-1   0-1   0-1   0-1   0-1
49 ALTER_CLIENT_QUOTAS                       0-1   0-1   0-1   0-1   0-1   0-1   0-1   0-1
50 DESCRIBE_USER_SCRAM_CREDENTIALS           -     0-0   -     0-0   0-0   0-0   0-0   0-0
51 ALTER_USER_SCRAM_CREDENTIALS              -     0-0   -     0-0   0-0   0-0   0-0   0-0
55 DESCRIBE_QUORUM                           0-0   -     0-1   0-2   0-2   0-2   0-2   0-2
56 ALTER_PARTITION                           -     0-0   -     -     -     -     -     -
57 UPDATE_FEATURES                           -     0-0   0-1   0-1   0-2   0-2   0-2   0-2
58 ENVELOPE                                  0-0   -     -     -     -     -     -     -
60 DESCRIBE_CLUSTER                          0-0   0-0   0-0   0-1   0-2   0-2   0-2   0-2
61 DESCRIBE_PRODUCERS                        0-0   0-0   0-0   0-0   0-0   0-0   0-0   0-0
64 UNREGISTER_BROKER                         -     -     0-0   0-0   0-0   0-0   0-0   0-0
65 DESCRIBE_TRANSACTIONS                     -     -     0-0   0-0   0-0   0-0   0-0   0-0
66 LIST_TRANSACTIONS                         -     -     0-0   0-1   0-2   0-2   0-2   0-2
68 CONSUMER_GROUP_HEARTBEAT                  -     -     -     0-0   0-1   0-1   0-1   0-1
69 CONSUMER_GROUP_DESCRIBE                   -     -     -     0-0   0-1   0-1   0-1   0-1
74 LIST_CONFIG_RESOURCES                     -     -     -     0-0   0-1   0-1   0-1   0-1
75 DESCRIBE_TOPIC_PARTITIONS                 -     -     -     0-0   0-0   0-0   0-0   0-0
76 SHARE_GROUP_HEARTBEAT                     -     -     -     -     1-1   1-1   1-1   1-1
77 SHARE_GROUP_DESCRIBE                      -     -     -     -     1-1   1-1   1-1   1-1
78 SHARE_FETCH                               -     -     -     -     1-1   1-2   1-2   1-2
79 SHARE_ACKNOWLEDGE                         -     -     -     -     1-1   1-2   1-2   1-2
80 ADD_RAFT_VOTER                            -     -     -     0-0   0-0   0-1   0-1   0-1
81 REMOVE_RAFT_VOTER                         -     -     -     0-0   0-0   0-0   0-0   0-0
83 INITIALIZE_SHARE_GROUP_STATE              -     -     -     -     0-0   0-0   0-0   0-0
84 READ_SHARE_GROUP_STATE                    -     -     -     -     0-0   0-0   0-0   0-0
85 WRITE_SHARE_GROUP_STATE                   -     -     -     -     0-0   0-1   0-1   0-1
86 DELETE_SHARE_GROUP_STATE                  -     -     -     -     0-0   0-0   0-0   0-0
87 READ_SHARE_GROUP_STATE_SUMMARY            -     -     -     -     0-0   0-1   0-1   0-1
88 STREAMS_GROUP_HEARTBEAT                   -     -     -     -     -     0-0   0-0   0-1
89 STREAMS_GROUP_DESCRIBE                    -     -     -     -     -     0-0   0-0   0-1
90 DESCRIBE_SHARE_GROUP_OFFSETS              -     -     -     -     0-0   0-1   0-1   0-1
91 ALTER_SHARE_GROUP_OFFSETS                 -     -     -     -     0-0   0-0   0-0   0-0
92 DELETE_SHARE_GROUP_OFFSETS                -     -     -     -     0-0   0-0   0-0   0-0
93 STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE -     -     -     -     -     -     -     0-0
94 UNREGISTER_CONTROLLER                     -     -     -     -     -     -     -     0-0
"""
