"""The transaction coordinator: transactional ids, their states and records. Pure."""
