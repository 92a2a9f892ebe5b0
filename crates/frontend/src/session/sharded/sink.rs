//! The client, as plans see it: where results go, and where files come from.

use bytes::{Buf, BytesMut};
use weir_admin::sessions::SessionHandle;
use weir_exec::Sink;
use weir_exec::write::Source;
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::frame::{FileFrames, HEADER};
use weir_wire::packets::encode_failure;

use super::super::relay::deadlock_in_place_of;
use crate::client::{Client, ClientError, FLUSH_AT, Mark};

/// The client's buffer, which takes results.
pub(super) struct ClientSink<'a> {
    client: &'a mut Client,
    handle: &'a SessionHandle,
    /// Where the client's output was before.
    start: Mark,
    /// Something has been sent.
    sent: bool,
    /// Why nothing more can be sent.
    error: Option<ClientError>,
}

impl<'a> ClientSink<'a> {
    pub(super) fn new(client: &'a mut Client, handle: &'a SessionHandle) -> Self {
        Self { start: client.mark(), client, handle, sent: false, error: None }
    }

    /// Takes back what was put, if none of it has been sent. Returns whether that was so.
    pub(super) fn take_back(&mut self) -> bool {
        if !self.sent {
            self.client.take_back(self.start);
        }
        !self.sent
    }

    /// Why nothing more can be sent.
    pub(super) fn into_error(self) -> Option<ClientError> {
        self.error
    }
}

impl Sink for ClientSink<'_> {
    fn put(&mut self, payload: &[u8]) {
        // A row does not begin with an error's byte.
        match payload {
            [0xff, low, high, ..] => {
                let code = u16::from_le_bytes([*low, *high]);
                match deadlock_in_place_of(self.handle, code) {
                    Some(failure) => self.client.put(&encode_failure(&failure)),
                    None => self.client.put(payload),
                }
            }
            _ => self.client.put(payload),
        }
    }

    fn is_full(&self) -> bool {
        self.client.output.len() >= FLUSH_AT
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        if self.client.output.is_empty() {
            return Ok(());
        }
        self.sent = true;
        self.client.flush().await.map_err(|error| {
            let failure = failure_of(&error);
            self.error = Some(error);
            failure
        })
    }

    async fn gone(&mut self) -> Failure {
        let error = self.client.gone().await;
        let failure = failure_of(&error);
        self.error = Some(error);
        failure
    }
}

fn failure_of(error: &ClientError) -> Failure {
    Failure::client(codes::ER_NET_READ_ERROR, error.to_string())
}

/// The client's file.
pub(super) struct ClientFile<'a> {
    client: &'a mut Client,
    /// It was asked for, and has not been read to its end.
    open: bool,
    frames: FileFrames,
    /// Why nothing more can be read.
    error: Option<ClientError>,
}

impl<'a> ClientFile<'a> {
    pub(super) fn new(client: &'a mut Client) -> Self {
        Self { client, open: false, frames: FileFrames::default(), error: None }
    }

    /// Whether the client has sent all of it, or was not asked for it.
    ///
    /// # Errors
    /// Why nothing more can be read.
    pub(super) fn into_error(self) -> Result<bool, ClientError> {
        self.error.map_or(Ok(!self.open), Err)
    }

    fn gone(&mut self, error: ClientError) -> Failure {
        let failure = Failure::client(codes::ER_NET_READ_ERROR, error.to_string());
        self.error = Some(error);
        failure
    }
}

impl Source for ClientFile<'_> {
    async fn open(&mut self, name: &[u8]) -> Result<(), Failure> {
        self.client.put(&[&[0xfb], name].concat());
        self.open = true;
        self.client.flush_request().await.map_err(|error| self.gone(error))
    }

    async fn read(&mut self) -> Result<Option<BytesMut>, Failure> {
        if !self.open {
            return Ok(None);
        }
        let mut frame = match self.client.frame().await {
            Ok(frame) => frame,
            Err(error) => return Err(self.gone(error)),
        };
        self.open = !self.frames.ends_with(&frame);
        frame.advance(HEADER);
        Ok(self.open.then_some(frame))
    }
}
