"""The table of the APIs and versions that the broker serves; ApiVersions returns it.

`Served.module` is the name of the handler's module in `broker/handlers/`, imported at first use.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ...protocol.api_keys import ApiKey


class Served(NamedTuple):
    """The served versions of an API, all that Kafka 4.1 offers, and the module of its handler.

    Attributes:
        closed_below: lower versions are offered, but close the connection. Kafka offers Produce
            from 0 on for old versions of librdkafka, and answers from 3 on (KIP-896).
        highest_unstable: the highest version with `unstable.api.versions.enable`.
    """

    lowest: int
    highest: int
    module: str
    closed_below: int = 0
    highest_unstable: int = -1


HANDLERS: Final[dict[ApiKey, Served]] = {
    ApiKey.PRODUCE: Served(0, 13, "produce", closed_below=3),
    ApiKey.FETCH: Served(4, 18, "fetch"),
    ApiKey.LIST_OFFSETS: Served(1, 10, "list_offsets"),
    ApiKey.METADATA: Served(0, 13, "metadata"),
    ApiKey.OFFSET_COMMIT: Served(2, 9, "offset_commit"),
    ApiKey.OFFSET_FETCH: Served(1, 9, "offset_fetch"),
    ApiKey.FIND_COORDINATOR: Served(0, 6, "find_coordinator"),
    ApiKey.JOIN_GROUP: Served(0, 9, "join_group"),
    ApiKey.HEARTBEAT: Served(0, 4, "heartbeat"),
    ApiKey.LEAVE_GROUP: Served(0, 5, "leave_group"),
    ApiKey.SYNC_GROUP: Served(0, 5, "sync_group"),
    ApiKey.DESCRIBE_GROUPS: Served(0, 6, "describe_groups"),
    ApiKey.LIST_GROUPS: Served(0, 5, "list_groups"),
    ApiKey.SASL_HANDSHAKE: Served(0, 1, "sasl_handshake"),
    ApiKey.API_VERSIONS: Served(0, 4, "api_versions"),
    ApiKey.CREATE_TOPICS: Served(2, 7, "create_topics"),
    ApiKey.DELETE_TOPICS: Served(1, 6, "delete_topics"),
    ApiKey.DELETE_RECORDS: Served(0, 2, "delete_records"),
    ApiKey.INIT_PRODUCER_ID: Served(0, 5, "init_producer_id", highest_unstable=6),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Served(2, 4, "offset_for_leader_epoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: Served(0, 5, "add_partitions_to_txn"),
    ApiKey.ADD_OFFSETS_TO_TXN: Served(0, 4, "add_offsets_to_txn"),
    ApiKey.END_TXN: Served(0, 5, "end_txn"),
    ApiKey.WRITE_TXN_MARKERS: Served(1, 1, "write_txn_markers"),
    ApiKey.TXN_OFFSET_COMMIT: Served(0, 5, "txn_offset_commit"),
    ApiKey.DESCRIBE_ACLS: Served(1, 3, "describe_acls"),
    ApiKey.CREATE_ACLS: Served(1, 3, "create_acls"),
    ApiKey.DELETE_ACLS: Served(1, 3, "delete_acls"),
    ApiKey.DESCRIBE_CONFIGS: Served(1, 4, "describe_configs"),
    ApiKey.ALTER_CONFIGS: Served(0, 2, "alter_configs"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Served(1, 2, "alter_replica_log_dirs"),
    ApiKey.DESCRIBE_LOG_DIRS: Served(1, 4, "describe_log_dirs"),
    ApiKey.SASL_AUTHENTICATE: Served(0, 2, "sasl_authenticate"),
    ApiKey.CREATE_PARTITIONS: Served(0, 3, "create_partitions"),
    ApiKey.CREATE_DELEGATION_TOKEN: Served(1, 3, "create_delegation_token"),
    ApiKey.RENEW_DELEGATION_TOKEN: Served(1, 2, "renew_delegation_token"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Served(1, 2, "expire_delegation_token"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Served(1, 3, "describe_delegation_token"),
    ApiKey.DELETE_GROUPS: Served(0, 2, "delete_groups"),
    ApiKey.ELECT_LEADERS: Served(0, 2, "elect_leaders"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served(0, 1, "incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Served(0, 1, "alter_partition_reassignments"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served(0, 0, "list_partition_reassignments"),
    ApiKey.OFFSET_DELETE: Served(0, 0, "offset_delete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Served(0, 1, "describe_client_quotas"),
    ApiKey.ALTER_CLIENT_QUOTAS: Served(0, 1, "alter_client_quotas"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Served(0, 0, "describe_user_scram_credentials"),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Served(0, 0, "alter_user_scram_credentials"),
    ApiKey.DESCRIBE_QUORUM: Served(0, 2, "describe_quorum"),
    ApiKey.UPDATE_FEATURES: Served(0, 2, "update_features"),
    ApiKey.DESCRIBE_CLUSTER: Served(0, 2, "describe_cluster"),
    ApiKey.DESCRIBE_PRODUCERS: Served(0, 0, "describe_producers"),
    ApiKey.UNREGISTER_BROKER: Served(0, 0, "unregister_broker"),
    ApiKey.DESCRIBE_TRANSACTIONS: Served(0, 0, "describe_transactions"),
    ApiKey.LIST_TRANSACTIONS: Served(0, 2, "list_transactions"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Served(0, 1, "consumer_group_heartbeat"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Served(0, 1, "consumer_group_describe"),
    ApiKey.LIST_CONFIG_RESOURCES: Served(0, 1, "list_config_resources"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Served(0, 0, "describe_topic_partitions"),
    ApiKey.SHARE_GROUP_HEARTBEAT: Served(1, 1, "share_groups"),
    ApiKey.SHARE_GROUP_DESCRIBE: Served(1, 1, "share_groups"),
    ApiKey.SHARE_FETCH: Served(1, 1, "share_groups"),
    ApiKey.SHARE_ACKNOWLEDGE: Served(1, 1, "share_groups"),
    ApiKey.ADD_RAFT_VOTER: Served(0, 0, "add_raft_voter"),
    ApiKey.REMOVE_RAFT_VOTER: Served(0, 0, "remove_raft_voter"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: Served(0, 0, "share_groups"),
    ApiKey.READ_SHARE_GROUP_STATE: Served(0, 0, "share_groups"),
    ApiKey.WRITE_SHARE_GROUP_STATE: Served(0, 0, "share_groups"),
    ApiKey.DELETE_SHARE_GROUP_STATE: Served(0, 0, "share_groups"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: Served(0, 0, "share_groups"),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Served(0, 0, "share_groups"),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Served(0, 0, "share_groups"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Served(0, 0, "share_groups"),
}
