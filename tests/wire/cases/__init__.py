"""The cases, one module per family of APIs; each module registers its cases."""
