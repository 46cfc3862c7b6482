"""Groups of the streams protocol (KIP-1071, StreamsGroupHeartbeat). Pure."""
