"""The Django application of `sharded_client.py`."""
