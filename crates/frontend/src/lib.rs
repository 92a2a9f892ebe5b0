//! A client's session: handshake, command loop, session state, streaming replies.
