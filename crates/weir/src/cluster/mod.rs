//! `weir up`, `weir down` and `weir status`: a local cluster of real servers with Weir in front.
