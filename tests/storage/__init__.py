"""The room `storage`: logs against models, on failing disks, and in the formats of Kafka."""
