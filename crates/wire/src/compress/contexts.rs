//! The state of the compression libraries, kept between frames because making it costs more than a small frame.
//!
//! Nothing of one frame is left for the next: one set serves any number of connections, one frame at a time.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::bulk;

use super::Algorithm;

/// The libraries' contexts; made on first use. A worker keeps one set for all of its connections: about 300 KB for zlib
/// and, at the default level, 1 to 4 MB for zstd, plus a buffer of at most one frame.
#[derive(Default)]
pub struct Contexts {
    deflate: Option<(u8, Compress)>,
    inflate: Option<Decompress>,
    zstd_compress: Option<(u8, bulk::Compressor<'static>)>,
    zstd_decompress: Option<bulk::Decompressor<'static>>,
    scratch: Vec<u8>,
}

impl Contexts {
    /// An empty set: takes no memory until it is used.
    pub fn new() -> Self {
        Self::default()
    }

    /// The compressed form of `plain` if it is shorter than `plain`; the caller sends `plain` itself otherwise.
    pub(super) fn compress(&mut self, algorithm: Algorithm, level: u8, plain: &[u8]) -> Option<&[u8]> {
        self.scratch.clear();
        self.scratch.reserve(plain.len());
        match algorithm {
            Algorithm::Zlib => self.deflate(level, plain)?,
            Algorithm::Zstd => self.zstd_compress(level, plain)?,
        }
        (self.scratch.len() < plain.len()).then_some(&self.scratch)
    }

    fn deflate(&mut self, level: u8, plain: &[u8]) -> Option<()> {
        let (current_level, context) =
            self.deflate.get_or_insert_with(|| (level, Compress::new(Compression::new(level.into()), true)));
        context.reset();
        if *current_level != level {
            context.set_level(Compression::new(level.into())).ok()?;
            *current_level = level;
        }
        let status = context.compress_vec(plain, &mut self.scratch, FlushCompress::Finish).ok()?;
        (status == Status::StreamEnd).then_some(())
    }

    fn zstd_compress(&mut self, level: u8, plain: &[u8]) -> Option<()> {
        if self.zstd_compress.is_none() {
            self.zstd_compress = Some((level, bulk::Compressor::new(level.into()).ok()?));
        }
        let (current_level, context) = self.zstd_compress.as_mut()?;
        if *current_level != level {
            context.set_compression_level(level.into()).ok()?;
            *current_level = level;
        }
        context.compress_to_buffer(plain, &mut self.scratch).ok()?;
        Some(())
    }

    /// Inflates `body` into `plain`; false unless it fills `plain` exactly and is used up.
    pub(super) fn inflate(&mut self, algorithm: Algorithm, body: &[u8], plain: &mut [u8]) -> bool {
        match algorithm {
            Algorithm::Zlib => {
                let context = self.inflate.get_or_insert_with(|| Decompress::new(true));
                context.reset(true);
                let status = context.decompress(body, plain, FlushDecompress::Finish);
                matches!(status, Ok(Status::StreamEnd))
                    && context.total_out() == plain.len() as u64
                    && context.total_in() == body.len() as u64
            }
            Algorithm::Zstd => {
                if self.zstd_decompress.is_none() {
                    self.zstd_decompress = bulk::Decompressor::new().ok();
                }
                self.zstd_decompress.as_mut().is_some_and(|context| {
                    context.decompress_to_buffer(body, plain).is_ok_and(|written| written == plain.len())
                })
            }
        }
    }
}

impl std::fmt::Debug for Contexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contexts").finish_non_exhaustive()
    }
}
