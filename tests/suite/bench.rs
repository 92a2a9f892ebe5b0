//! `weir bench` as a user runs it: real servers, proxies and load tools. Whether the figures are good is not asked here;
//! that they are there, hang together, and that nothing is left behind, is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_bench::record::{Point, Record, Run};
use weir_local::Flavor;

use crate::Collector;
use crate::driver::expect_equal;
use crate::lab::{Lab, eventually, name_of};
use crate::signals;
use crate::weir::binary;

/// How long the shortest form may take on a slow machine.
const RUN_BOUND: Duration = Duration::from_secs(240);
/// How long the end after a signal may take.
const STOP_BOUND: Duration = Duration::from_secs(60);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("bench::the_shortest_form_measures_all_points_and_leaves_nothing_behind", shortest_form);
    tests.add_for_weir("bench::reads_are_split_and_none_is_staler_than_its_level_allows", read_write_splitting);
    tests.add_for_weir("bench::partitions_cost_no_statement_and_ranges_one_for_each_shard", sharded);
    tests.add_for_weir("bench::a_hot_row_lacks_what_clients_were_told_to_have_taken", hot_row);
    tests.add_for_weir("bench::orders_of_two_shards_leave_consistent_tables", tpcc);
    tests.add_for_weir("bench::troubles_of_the_machine_are_met_and_end_with_the_run", troubles);
    tests.add_for_weir("bench::an_interrupted_run_records_what_it_has_and_leaves_nothing_behind", interrupted);
}

/// A `weir bench run` with a temporary folder of its own, where everything is that it must not leave behind.
struct BenchRun {
    bench: &'static str,
    child: Child,
    temporary: PathBuf,
    out: PathBuf,
    output: PathBuf,
    progress: PathBuf,
}

impl BenchRun {
    fn start(lab: &Lab, flavor: Flavor, bench: &'static str, out: &Path, arguments: &[&str]) -> Result<Self, Failed> {
        let dir = lab.directory()?;
        let temporary = dir.join("tmp");
        fs::create_dir(&temporary)?;
        let (output, progress) = (dir.join("stdout"), dir.join("stderr"));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(binary()?);
        command.args(["bench", "run", bench, "--smoke", "--flavor", name_of(flavor)]).arg("--out").arg(out);
        command.args(arguments).env("TMPDIR", &temporary).stdin(Stdio::null());
        command.stdout(File::create(&output)?).stderr(File::create(&progress)?);
        let child = signals::unblocked(|| command.spawn())?;
        Ok(Self { bench, child, temporary, out: out.to_path_buf(), output, progress })
    }

    fn wait(&mut self, bound: Duration) -> Result<ExitStatus, Failed> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begun.elapsed() > bound {
                return Err(format!("no end within {} s:\n{}", bound.as_secs(), self.said()).into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The record of a run that measured all that it was to.
    fn complete(&mut self) -> Result<Record, Failed> {
        let status = self.wait(RUN_BOUND)?;
        if !status.success() {
            return Err(format!("{status}:\n{}", self.said()).into());
        }
        self.expect_nothing_left()?;
        let record = self.record()?;
        expect_equal("complete", record.complete, true)?;
        Ok(record)
    }

    fn said(&self) -> String {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        format!("{}{}", read(&self.progress), read(&self.output))
    }

    fn record(&self) -> Result<Record, Failed> {
        let path = self.out.join(self.bench).with_extension("json");
        weir_bench::read(&path).map_err(|error| format!("{error}\n{}", self.said()).into())
    }

    /// All files of a run are below its temporary folder, and all its processes name one of them.
    fn expect_nothing_left(&self) -> Result<(), Failed> {
        let left: Vec<PathBuf> = fs::read_dir(&self.temporary)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        if !left.is_empty() {
            return Err(format!("the run left {left:?}").into());
        }
        let folder = self.temporary.display().to_string();
        let names_folder = |pid: i32| {
            let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command_line).contains(&folder)
        };
        let processes = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let left: Vec<i32> = processes.filter(|pid| names_folder(*pid)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("processes of the run still live: {left:?}").into()) }
    }
}

impl Drop for BenchRun {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

/// Where reports of this suite stay, so that they and their pictures can be looked at: `target/bench-<server>`.
fn kept_directory(flavor: Flavor) -> Result<PathBuf, Failed> {
    let suite = std::env::current_exe()?;
    // The suite is target/<profile>/deps/suite-<hash>.
    let target = suite.ancestors().nth(3).ok_or("the suite has no target directory")?;
    Ok(target.join(format!("bench-{}", name_of(flavor))))
}

fn shortest_form(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = kept_directory(flavor)?;
    // MySQL Router is not in every distribution; with MariaDB the run notes that it is missing, if so. What other proxies do is the same
    // in front of both kinds of server.
    let arguments: &[&str] = match flavor {
        Flavor::MariaDb => &[],
        Flavor::MySql => &["--target", "direct,weir"],
    };
    let mut run = BenchRun::start(lab, flavor, "overhead", &out, arguments)?;
    let record = run.complete()?;
    expect_targets(&record, flavor)?;
    expect_points(&record)?;
    record.points.iter().try_for_each(|point| expect_plausible(point, &out))?;
    let haproxy = (flavor == Flavor::MariaDb).then_some("haproxy");
    for key in ["weir", "sysbench", "database server"].into_iter().chain(haproxy) {
        record.versions.get(key).ok_or_else(|| format!("no version of {key}"))?;
    }
    let said = run.said();
    for name in ["overhead.json", "overhead.md", "overhead.html"] {
        let file = out.join(name).display().to_string();
        if !said.contains(&file) {
            return Err(format!("{file} is not told:\n{said}").into());
        }
    }
    look_at(Flavor::MariaDb, flavor, &out.join("overhead.html"))
}

fn expect_targets(record: &Record, flavor: Flavor) -> Result<(), Failed> {
    let mut expected = BTreeSet::from(["direct", "weir"]);
    if flavor == Flavor::MariaDb {
        expected.insert("haproxy");
    }
    if flavor == Flavor::MariaDb && !record.notes.iter().any(|note| note.contains("MySQL Router is left out")) {
        expected.insert("router");
    }
    expect_equal("targets", record.targets.iter().map(|target| &*target.key).collect(), expected)
}

fn expect_points(record: &Record) -> Result<(), Failed> {
    let of_one: BTreeSet<_> = BTreeSet::from([
        ("oltp_point_select", Some(false), 4),
        ("oltp_point_select", Some(true), 4),
        ("oltp_insert", Some(false), 4),
        ("oltp_insert", Some(true), 4),
        ("churn", None, 4),
        ("storm", None, 200),
        ("idle", None, 200),
    ]);
    for target in &record.targets {
        let points = record.points.iter().filter(|point| point.target == target.key);
        let measured = points.map(|point| (&*point.workload, point.prepared, point.clients)).collect();
        expect_equal(&format!("points of {}", target.key), measured, of_one.clone())?;
    }
    Ok(())
}

fn expect_plausible(point: &Point, out: &Path) -> Result<(), Failed> {
    let name = format!("{} {:?} on {}", point.workload, point.prepared, point.target);
    let wrong = |what: &str, run: &Run| Err(Failed::from(format!("{name}: {what}: {run:#?}")));
    let [run] = &point.runs[..] else {
        return Err(format!("{name}: {} runs, failure {:?}", point.runs.len(), point.failure).into());
    };
    let is_sysbench = point.workload.starts_with("oltp_");
    if run.queries == 0 || run.qps <= 0.0 || run.seconds <= 0.0 {
        return wrong("nothing was measured", run);
    }
    // A storm is more than the server takes; Weir alone can serve it.
    if run.errors > 0 && (point.workload != "storm" || point.target == "weir") {
        return wrong("clients saw errors", run);
    }
    if is_sysbench && !(run.p50_us > 0.0 && run.p50_us <= run.p95_us && run.p95_us <= run.p99_us) {
        return wrong("percentiles are out of order", run);
    }
    let processes: BTreeSet<&str> = run.processes.keys().map(String::as_str).collect();
    let mut expected = BTreeSet::from(["server", "client"]);
    if point.target != "direct" {
        expected.insert("proxy");
    }
    if processes != expected || run.processes.values().any(|usage| usage.peak_rss_bytes == 0) {
        return wrong("the processes are not those of the target", run);
    }
    // Inserts wait for the disk: on a slow one a proxy uses less than a tick of the kernel's clock.
    let is_busy = point.workload == "oltp_point_select";
    if is_busy && run.processes.values().any(|usage| usage.cpu_seconds <= 0.0) {
        return wrong("a process used no CPU time", run);
    }
    let counter = if point.workload == "oltp_insert" { "Com_insert" } else { "Com_select" };
    let counted = run.counters.get(counter).copied().unwrap_or_default();
    if is_sysbench && counted < i64::try_from(run.queries)? / 2 {
        return wrong("the server has not counted the queries", run);
    }
    let raw = run.raw.as_ref().map(|raw| out.join(raw));
    if raw.is_some_and(|raw| raw.is_file()) { Ok(()) } else { wrong("the raw output is not there", run) }
}

/// The page, in a real browser; pictures go beside it. Once, with the run on one kind of server: the page is made in the same way for both.
fn look_at(wanted: Flavor, flavor: Flavor, page: &Path) -> Result<(), Failed> {
    if flavor != wanted {
        return Ok(());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/look-at-report");
    let output = Command::new(script).arg(page).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("look-at-report {}: {}", page.display(), String::from_utf8_lossy(&said)).into())
}

fn troubles(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = lab.directory()?;
    let arguments = ["--contended", "--target", "weir", "--clients", "8", "--seconds", "2"];
    let mut run = BenchRun::start(lab, flavor, "overhead", &out, &arguments)?;
    let record = run.complete()?;
    let met: Vec<_> = record.points.iter().map(|point| point.variant.as_deref().unwrap_or_default()).collect();
    let told = ["quiet", "4 busy processes", "server gets 34% of the CPU", "server stops for 2 s"];
    expect_equal(
        "troubles",
        met,
        told.map(|trouble| format!("machine={trouble}")).iter().map(String::as_str).collect(),
    )?;
    for run in record.points.iter().flat_map(|point| &point.runs) {
        expect_equal("errors", run.errors, 0)?;
        expect_equal("there are seconds", run.qps_by_second.is_empty(), false)?;
    }
    Ok(())
}

fn read_write_splitting(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = kept_directory(flavor)?;
    let mut run = BenchRun::start(lab, flavor, "polardb", &out, &[])?;
    let record = run.complete()?;
    let reads = |point: &&Point| point.workload == "oltp_point_select";
    let variants: Vec<_> = record.points.iter().filter(reads).map(|point| point.variant.as_deref()).collect();
    let levels = ["session", "eventual", "strong", "primary"].map(|level| format!("replicas=2, {level}"));
    let expected: Vec<_> = std::iter::once(None).chain(levels.iter().map(|variant| Some(variant.as_str()))).collect();
    expect_equal("how reads were split", variants, expected)?;
    let looks: Vec<_> = record.points.iter().filter(|point| point.workload == "freshness").collect();
    let text = looks.iter().filter(|point| point.prepared == Some(false)).count();
    expect_equal("looks for stale reads, as text and prepared", (text, looks.len() - text), (4, 4))?;
    record.points.iter().try_for_each(expect_split)?;
    look_at(Flavor::MySql, flavor, &out.join("polardb.html"))
}

/// Each server had the reads that the level leaves it, and none was staler than the level allows.
fn expect_split(point: &Point) -> Result<(), Failed> {
    let level = point.variant.as_deref().and_then(|variant| variant.strip_prefix("replicas=2, "));
    let name = format!("{} {:?} at {level:?} on {}", point.workload, point.prepared, point.target);
    let wrong = |what: &str| Err(Failed::from(format!("{name}: {what}: {point:#?}")));
    let [run] = &point.runs[..] else { return wrong("it was not run once") };
    let counter = |name: &str| run.counters.get(name).copied().unwrap_or_default();
    let is_writing = point.workload == "oltp_write_only";
    if run.queries == 0 || (run.errors > 0 && !is_writing) {
        return wrong("nothing was measured, or clients saw errors");
    }
    let Some(level) = level.filter(|_| !is_writing) else { return Ok(()) };
    let is_freshness = point.workload == "freshness";
    let reads = if is_freshness { counter("freshness.reads") } else { i64::try_from(run.queries)? };
    // Where clients write, a slow machine's replicas may often be late.
    let on_each: &[&str] = if is_freshness { &[] } else { &["replica1.Com_select", "replica2.Com_select"] };
    let mut on_replicas = on_each.iter().chain(&["weir.reads_on_readers"]).map(|name| counter(name));
    if level == "primary" {
        if counter("weir.reads_on_readers") != 0 || counter("Com_select") < reads {
            return wrong("reads have left the writer");
        }
    } else if on_replicas.any(|count| count * 10 < reads) {
        return wrong("the replicas did not have their share of the reads");
    }
    if !is_freshness {
        return Ok(());
    }
    expect_equal(
        &format!("{name}: two reads to each write"),
        counter("freshness.reads"),
        2 * counter("freshness.pairs"),
    )?;
    if level != "eventual" {
        expect_equal(&format!("{name}: stale reads"), counter("freshness.stale_own"), 0)?;
        expect_equal(&format!("{name}: steps back"), counter("freshness.steps_back"), 0)?;
    }
    if ["strong", "primary"].contains(&level) {
        expect_equal(&format!("{name}: reads behind other clients"), counter("freshness.behind_others"), 0)?;
    }
    Ok(())
}

fn sharded(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = kept_directory(flavor)?;
    let mut run = BenchRun::start(lab, flavor, "radon", &out, &[])?;
    let record = run.complete()?;
    for point in &record.points {
        let [run] = &point.runs[..] else { return Err(format!("not run once: {point:#?}").into()) };
        let is_writing = point.workload == "oltp_read_write";
        if run.queries == 0 || (run.errors > 0 && !is_writing) {
            return Err(format!("nothing was measured, or clients saw errors: {point:#?}").into());
        }
    }
    let of = |workload: &str, variant: &str| -> Result<Asked, Failed> {
        let mut points = record.points.iter().filter(|point| point.workload == workload);
        let point = points.find(|point| point.variant.as_deref() == Some(variant));
        Asked::of(point.ok_or_else(|| format!("no {workload} at {variant}"))?)
    };
    let (few, many) = ("shards=2, partitions=8", "shards=2, partitions=64");
    of("oltp_point_select", few)?.expect_near("a point", 1.0, 1.0)?;
    of("oltp_point_select", many)?.expect_near("a point at 64 partitions", 1.0, 1.0)?;
    let mix = of("oltp_read_write", few)?;
    let (least, most) = (mix.least_for_each(), mix.for_each());
    of("oltp_read_write", many)?.expect_near("the mix at 64 partitions", least, most)?;
    of("scatter", many)?.expect_near("a range over two shards", 2.0, 2.0)?;
    of("scatter", "shards=4, partitions=64")?.expect_near("a range over four shards", 4.0, 4.0)?;
    look_at(Flavor::MariaDb, flavor, &out.join("radon.html"))
}

fn hot_row(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = kept_directory(flavor)?;
    let (arguments, proxies): (&[&str], &[&str]) = match flavor {
        Flavor::MariaDb => (&[], &["haproxy"]),
        Flavor::MySql => (&["--target", "direct,weir,weir-merge,weir-off"], &[]),
    };
    let mut run = BenchRun::start(lab, flavor, "hotrow", &out, arguments)?;
    let record = run.complete()?;
    let of = |workload: &str, mode: &str| -> BTreeSet<String> {
        let is_of = |point: &&Point| (&*point.workload, point.variant.as_deref()) == (workload, Some(mode));
        record.points.iter().filter(is_of).map(|point| point.target.clone()).collect()
    };
    let set = |targets: &[&str]| -> BTreeSet<String> { targets.iter().map(|target| (*target).to_owned()).collect() };
    let compared = |own: &[&str]| -> BTreeSet<String> { set(&[&["direct"], proxies, own].concat()) };
    let all = compared(&["weir", "weir-merge"]);
    for workload in ["seckill", "seckill_slap", "seckill_key"] {
        expect_equal(workload, of(workload, "mode=durable"), all.clone())?;
    }
    expect_equal("the other mode", of("seckill_autocommit", "mode=optimised"), all)?;
    expect_equal("cold rows", of("oltp_update_non_index", "mode=optimised"), set(&["weir-off", "weir"]))?;
    expect_equal("hints", of("seckill_hints", "mode=durable"), set(&["weir"]))?;
    expect_equal("packets", of("seckill_packets", "mode=durable"), compared(&["weir"]))?;
    for point in &record.points {
        // A run that the row does not agree with is a failure, and no run.
        let [run] = &point.runs[..] else { return Err(format!("not run once: {point:#?}").into()) };
        if run.queries == 0 || run.errors > 0 {
            return Err(format!("nothing was measured, or clients saw errors: {point:#?}").into());
        }
        let is_driven = point.workload.starts_with("seckill") && point.workload != "seckill_slap";
        if is_driven && !(run.p50_us > 0.0 && run.p50_us <= run.p99_us) {
            return Err(format!("percentiles are out of order: {point:#?}").into());
        }
    }
    for name in ["disk.fdatasync_p50_us", "disk.fdatasync_p99_us"] {
        record.settings.get(name).ok_or_else(|| format!("no {name}"))?;
    }
    look_at(Flavor::MySql, flavor, &out.join("hotrow.html"))
}

fn tpcc(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = kept_directory(flavor)?;
    let targets = match flavor {
        Flavor::MariaDb => "direct,haproxy,weir",
        Flavor::MySql => "direct,weir",
    };
    let mut run = BenchRun::start(lab, flavor, "tpcc", &out, &["--prepared", "both", "--target", targets])?;
    let record = run.complete()?;
    let points: Vec<_> =
        record.points.iter().map(|point| (point.prepared, &*point.target, point.variant.as_deref())).collect();
    let of = |prepared| {
        let each = targets.split(',').map(move |target| (target, (target == "weir").then_some("shards=2")));
        each.map(move |(target, variant)| (Some(prepared), target, variant))
    };
    expect_equal("what was measured", points, of(false).chain(of(true)).collect())?;
    for point in &record.points {
        // A run that leaves tables that are not consistent is a failure, and no run.
        let [run] = &point.runs[..] else { return Err(format!("not run once: {point:#?}").into()) };
        let count = |kind: &str| run.kinds.get(kind).map_or(0, |kind| kind.count);
        if count("new_order") == 0 || count("payment") == 0 {
            return Err(format!("no orders and payments: {run:#?}").into());
        }
        // What is locked by another is an error that applications meet; rows that are not there are none.
        let is_lock = |code: &String| ["1205", "1213"].contains(&code.as_str());
        if !run.errors_by_code.keys().all(is_lock) {
            return Err(format!("clients saw other errors than locks: {run:#?}").into());
        }
    }
    look_at(Flavor::MariaDb, flavor, &out.join("tpcc.html"))
}

/// What the shards were asked in a run.
struct Asked {
    /// By the clients.
    statements: f64,
    /// The shards' count of it, with Weir's own questions.
    questions: f64,
}

impl Asked {
    /// Weir's own questions in a run: of connections that it opens, and the monitor's. Where a disk makes commits slow, a short run
    /// has hardly more statements.
    const MOST_OWN: f64 = 80.0;

    fn of(point: &Point) -> Result<Self, Failed> {
        let run = point.runs.first().ok_or("no run")?;
        let is_of_shard = |name: &str| name.starts_with("shard") && name.ends_with(".Questions");
        let questions = run.counters.iter().filter(|(name, _)| is_of_shard(name)).map(|(_, count)| *count as f64).sum();
        Ok(Self { statements: run.queries as f64, questions })
    }

    fn for_each(&self) -> f64 {
        self.questions / self.statements
    }

    fn least_for_each(&self) -> f64 {
        (self.questions - Self::MOST_OWN).max(0.0) / self.statements
    }

    fn expect_near(&self, what: &str, least: f64, most: f64) -> Result<(), Failed> {
        let wanted = self.statements * least * 0.85..=self.statements * most * 1.1 + Self::MOST_OWN;
        if wanted.contains(&self.questions) {
            return Ok(());
        }
        let Self { statements, questions } = self;
        Err(format!("{what}: {questions} statements on servers for {statements}, not {wanted:?}").into())
    }
}

fn interrupted(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let out = lab.directory()?.join("out");
    let signal = match flavor {
        Flavor::MariaDb => Signal::SIGINT,
        Flavor::MySql => Signal::SIGTERM,
    };
    let arguments = ["--target", "direct,weir", "--workload", "oltp_point_select,oltp_insert", "--rounds", "90"];
    let mut run = BenchRun::start(lab, flavor, "overhead", &out, &arguments)?;
    let raw = out.join("raw/overhead/oltp_point_select-text-4-weir-2.txt");
    let runs = || fs::read_to_string(&raw).is_ok_and(|text| text.contains("Threads started!"));
    eventually(RUN_BOUND, "the second round's load runs", runs)?;
    kill(Pid::from_raw(run.child.id().cast_signed()), signal)?;
    let status = run.wait(STOP_BOUND)?;
    expect_equal("exit code", status.code(), Some(130))?;
    run.expect_nothing_left()?;
    let record = run.record()?;
    expect_equal("complete", record.complete, false)?;
    let measured: Vec<_> =
        record.points.iter().map(|point| (&*point.workload, &*point.target, point.runs.is_empty())).collect();
    expect_equal(
        "what was measured",
        measured,
        vec![("oltp_point_select", "direct", false), ("oltp_point_select", "weir", false)],
    )?;
    if !record.notes.iter().any(|note| note.contains("interrupted")) {
        return Err(format!("the notes don't tell of the interrupt: {:?}", record.notes).into());
    }
    for name in ["overhead.md", "overhead.html"] {
        expect_equal(name, out.join(name).is_file(), true)?;
    }
    Ok(())
}
