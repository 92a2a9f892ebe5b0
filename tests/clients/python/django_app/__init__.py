"""The Django application of `django_client.py`."""
