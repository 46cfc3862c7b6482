"""What stands out in a trace: sentences that name their events, for pages and for reports.

A finding says what happened and not whether it is wrong, which only the author of a test knows.
`find.py` puts them in order, from cause to effect; `refusals.py` has faults, errors and leaders,
`retries.py` what producers sent again or did not, `transactions.py` ends of transactions,
`reads.py` where readers begin and what they get, `groups.py` members that take over,
`lost_members.py` those that were lost, and `clock.py` moves of the clock.

May enter: a module with a function from `Seen` to findings. Begin with `seen.py`.
"""
