"""What tests are made with: databases, brokers, plays, readings of messages."""
