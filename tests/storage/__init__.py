"""The room `storage`: logs against models, against failing disks, and Kafka's formats byte by byte."""
