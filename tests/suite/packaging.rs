//! The Debian package: what is in it, and that what is in it works.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::driver::expect_equal;
use crate::lab::Lab;
use crate::signals;
use crate::weir::binary;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    if tests.flavor == Flavor::MariaDb {
        tests.add_for_weir("packaging::the_debian_package_is_whole", |_: &Lab, _| package());
    }
}

/// Runs a program to its end: what it printed on standard output. A failure has what it complained about.
fn output(program: &str, args: &[&str]) -> Result<String, Failed> {
    let mut command = Command::new(program);
    command.args(args);
    let output = signals::unblocked(|| command.output()).map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{program} {args:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)).into())
}

fn text(path: &Path) -> Result<&str, Failed> {
    path.to_str().ok_or_else(|| "not UTF-8".into())
}

fn package() -> Result<(), Failed> {
    // Of its own, as another user must get to it.
    let dir = tempfile::tempdir()?;
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755))?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/build-deb");
    // What is in a package does not depend on its compression, which takes half a minute.
    let built = output("env", &["WEIR_DEB_COMPRESSION=none", script, text(&binary()?)?, text(dir.path())?])?;
    let package = built.trim();

    let about = output("dpkg-deb", &["-I", package])?;
    for line in ["Package: weir", "Depends: libc6 (>= 2.", "conffiles", "postinst", "prerm", "postrm"] {
        expect_equal(&format!("{line} in {about}"), about.contains(line), true)?;
    }
    expect_equal("conffiles", output("dpkg-deb", &["-I", package, "conffiles"])?, "/etc/weir/weir.toml\n".into())?;
    let content = output("dpkg-deb", &["-c", package])?;
    for (path, mode) in [
        ("./", "drwxr-xr-x"),
        ("./usr/bin/weir", "-rwxr-xr-x"),
        ("./usr/lib/systemd/system/weir.service", "-rw-r--r--"),
        ("./usr/share/doc/weir/copyright", "-rw-r--r--"),
        ("./usr/share/doc/weir/operations.md", "-rw-r--r--"),
        ("./etc/weir/", "drwxr-x---"),
        ("./etc/weir/weir.toml", "-rw-r-----"),
    ] {
        let found = content.lines().any(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields.first() == Some(&mode) && fields.get(1) == Some(&"root/root") && fields.last() == Some(&path)
        });
        expect_equal(&format!("{mode} root/root {path} in {content}"), found, true)?;
    }

    let tree = dir.path().join("tree");
    output("dpkg-deb", &["-x", package, text(&tree)?])?;
    output("dpkg-deb", &["-e", package, text(&tree.join("DEBIAN"))?])?;
    for script in ["postinst", "prerm", "postrm"] {
        output("sh", &["-n", text(&tree.join("DEBIAN").join(script))?])?;
    }
    runs(&tree)?;
    is_a_unit(&tree)
}

/// The program runs, and takes the configuration with the owner and mode that it gets.
fn runs(tree: &Path) -> Result<(), Failed> {
    let (program, config) = (tree.join("usr/bin/weir"), tree.join("etc/weir/weir.toml"));
    let (program, config) = (text(&program)?, text(&config)?);
    expect_equal("version", output(program, &["version"])?.starts_with("weir "), true)?;
    let valid = format!("{config}: the configuration is valid\n");
    if !nix::unistd::geteuid().is_root() {
        std::fs::set_permissions(config, PermissionsExt::from_mode(0o600))?;
        return expect_equal("config check", output(program, &["config", "check", config])?, valid);
    }
    // As the installation leaves it: root's, and readable by the group of the service.
    let service = nix::unistd::Gid::from_raw(65_534);
    for path in [config, text(&tree.join("etc/weir"))?] {
        nix::unistd::chown(path, None, Some(service))?;
    }
    let as_service = ["--reuid", "65534", "--regid", "65534", "--clear-groups", program, "config", "check", config];
    expect_equal("config check", output("setpriv", &as_service)?, valid)?;
    std::fs::set_permissions(config, PermissionsExt::from_mode(0o644))?;
    expect_equal("a file that others can read", output("setpriv", &as_service).is_err(), true)
}

/// systemd understands the unit, where it is there to be asked.
fn is_a_unit(tree: &Path) -> Result<(), Failed> {
    let unit = std::fs::read_to_string(tree.join("usr/lib/systemd/system/weir.service"))?;
    for line in ["Type=notify", "User=weir", "ExecReload=/bin/kill -HUP $MAINPID", "NoNewPrivileges=yes"] {
        expect_equal(line, unit.lines().any(|own| own == line), true)?;
    }
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return Ok(());
    }
    let copy = tree.join("weir.service");
    let program = tree.join("usr/bin/weir");
    std::fs::write(&copy, unit.replace("/usr/bin/weir", text(&program)?))?;
    output("systemd-analyze", &["verify", text(&copy)?]).map(drop)
}
