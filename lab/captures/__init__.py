"""Captures of the network (pcap and pcapng) become the events of a trace."""
