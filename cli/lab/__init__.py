"""Commands for the control of a broker: faults and its clock."""
