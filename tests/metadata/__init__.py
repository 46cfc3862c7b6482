"""The room `metadata`: the catalog and its records, without clock, disk or network."""
