//! Starting a server: on the data that is there, or on a copy of the template of its version.

use std::path::Path;

use crate::server::{Server, ServerSpec};
use crate::{Installation, LocalError, template};

impl Server {
    /// Starts a server in `parent/<name>` and waits until it answers. Data that is there is used; else it starts empty,
    /// with only `root`, who needs no password and can log in over the unix socket only.
    ///
    /// Errors: [`LocalError::AlreadyRunning`] when a server runs on this directory, [`LocalError::PortTaken`],
    /// [`LocalError::NotStarted`] with the end of the error log.
    pub fn start(installation: &Installation, parent: &Path, spec: &ServerSpec) -> Result<Self, LocalError> {
        let mut server = Self::launch(installation, parent, spec, |_| Ok(()))?;
        server.wait_ready()?;
        Ok(server)
    }

    /// The first half of [`Server::start`]: the process is started, and may still fail. Several servers are launched
    /// first and awaited afterwards, so that they start side by side.
    /// `prepare` is called when the server's directory is there.
    pub(crate) fn launch(
        installation: &Installation,
        parent: &Path,
        spec: &ServerSpec,
        prepare: impl FnOnce(&mut Self) -> Result<(), LocalError>,
    ) -> Result<Self, LocalError> {
        let mut server = Self::prepare(installation, parent, spec)?;
        prepare(&mut server)?;
        if !server.data_directory().is_dir() {
            template::copy_to(installation, &server.data_directory(), &spec.cancel)?;
        }
        server.launch_on_data()?;
        Ok(server)
    }
}
