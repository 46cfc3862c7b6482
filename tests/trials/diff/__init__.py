"""`ottla diff`, mostly between two Ottlas, one of which has a planted difference."""
