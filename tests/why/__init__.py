"""Why is it stuck? Sentences from facts alone, and from situations made on brokers."""
