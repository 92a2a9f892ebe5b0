//! The guards against signalling a stranger, proved on real processes.

use std::time::Instant;

use super::*;

fn sleeper(word: &str) -> (Process, std::path::PathBuf) {
    let log = std::env::temp_dir().join(format!("weir-local-{}-{word}.log", std::process::id()));
    let launch = Launch {
        name: "sleeper",
        program: Path::new("/bin/sh"),
        arguments: &["-c".into(), "while :; do sleep 60; done".into(), word.into()],
        directory: Path::new("/"),
        log: &log,
        lifetime: Lifetime::WithParentThread,
        mark: CommandMark { programs: vec!["sh".into()], words: vec![word.into()] },
        programs: None,
    };
    let process = Process::spawn(launch).expect("start");
    // What starts it is replaced by it, and has no command line in the midst of that.
    let pid = process.id().pid;
    let begun = Instant::now();
    let is_itself = || {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name == "sh\n") && process.mark.fits(pid)
    };
    while !is_itself() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    (process, log)
}

#[test]
fn a_record_with_another_start_time_or_command_line_is_nobody() {
    let (process, log) = sleeper("guard-1");
    let (id, mark) = (process.id(), process.mark.clone());
    let other_time = ProcessId { start_ticks: id.start_ticks + 1, ..id };
    let other_mark = CommandMark { words: vec!["another".into()], ..mark.clone() };

    let recycled = Process { name: "r".into(), id: other_time, mark: mark.clone(), child: None };
    assert!(!recycled.signal(Signal::SIGKILL), "a pid with another start time was signalled");
    let stranger = Process { name: "s".into(), id, mark: other_mark.clone(), child: None };
    assert!(!stranger.signal(Signal::SIGKILL), "a process with another command line was signalled");
    assert!(Process::find("x", Some(id), &other_mark).is_none());
    assert!(process.is_alive());

    let found = Process::find("x", Some(other_time), &mark).expect("found by its command line");
    assert_eq!(found.id(), id);
    process.kill().expect("kill");
    assert!(ProcessId::of(id.pid).is_none());
    std::fs::remove_file(log).expect("remove log");
}

#[test]
fn a_stopped_process_hears_the_request_to_end() {
    let (process, log) = sleeper("guard-2");
    let id = process.id();
    assert!(process.signal(Signal::SIGSTOP));
    process.stop(Duration::from_secs(20)).expect("stop");
    assert!(ProcessId::of(id.pid).is_none());
    std::fs::remove_file(log).expect("remove log");
}
