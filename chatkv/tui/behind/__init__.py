"""What is behind the screen: store, worker process, models at hand, and the desk that brings them together."""
