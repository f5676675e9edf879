"""What tests are made with: databases in two states, brokers, runs and what they are held to, readings of messages."""
