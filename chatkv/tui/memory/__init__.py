"""What the sidebar draws, as data: gauges from events, the map, growth, events as lines. No widgets."""
