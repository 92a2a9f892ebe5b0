//! The WEIR statements and the metrics endpoint, over one command model.
