//! Does what the command line asks for: on both kinds of server at once, each in a thread of its own that also starts
//! its server, since a server ends with the thread that started it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;

use indicatif::MultiProgress;
use weir_local::{Flavor, cache_dir};

use crate::corpus::{self, Statement};
use crate::judge::{Judge, is_in_the_grammar};
use crate::measure::Measure;
use crate::{Arguments, Kind, STACK, TableArguments, What, joined};
use crate::{expressions, opinion, random_expressions, spans, splices, tables};

/// How much [`What::All`] asks of the servers.
const SAMPLE: usize = 4000;
const RANDOM: usize = 1000;

/// True: all that was asked for is as it should be.
pub(crate) fn run(arguments: &Arguments) -> io::Result<bool> {
    let statements = match arguments.what {
        Some(What::Ask { .. }) => Vec::new(),
        _ => corpus::read(&cache_dir().join("sql-corpus"))?,
    };
    println!("{} distinct statements", statements.len());
    let folder = tempfile::Builder::new().prefix("sql-corpus-").tempdir()?;
    let bars = MultiProgress::new();
    let wanted = |kind: &(Kind, Flavor)| arguments.server.is_none_or(|only| only == kind.0);
    let kinds = [(Kind::Mysql, Flavor::MySql), (Kind::Mariadb, Flavor::MariaDb)];
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (_, flavor) in kinds.into_iter().filter(wanted) {
            let (statements, folder, bars) = (&statements, folder.path(), bars.clone());
            let work = move || {
                let judge = Judge::of(flavor, folder, bars)?;
                OneServer { arguments, judge, out: String::new() }.run(statements)
            };
            threads.push(thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?);
        }
        let mut good = true;
        for thread in threads {
            let (fine, out) = joined(thread.join())?;
            print!("{out}");
            good &= fine;
        }
        Ok(good)
    })
}

struct OneServer<'a> {
    arguments: &'a Arguments,
    judge: Judge,
    out: String,
}

impl OneServer<'_> {
    fn run(mut self, statements: &[Statement]) -> io::Result<(bool, String)> {
        let default = What::Table(TableArguments::default());
        let what = self.arguments.what.as_ref().unwrap_or(&default);
        if let What::Ask { run, mode, statements } = what {
            self.ask(*run, mode, statements)?;
            return Ok((true, self.out));
        }
        let cache = cache_dir().join("sql-verdicts");
        let verdicts = self.judge.verdicts(statements, &cache)?;
        let kept = statements.iter().zip(&verdicts).filter(|(_, code)| is_in_the_grammar(**code));
        let kept: Vec<&Statement> = kept.map(|(statement, _)| statement).collect();
        let good = match what {
            What::All => {
                let mut good =
                    self.table(&kept, &TableArguments { check: true, causes: 10, ..TableArguments::default() })?;
                for check in [
                    What::Spans,
                    What::Splices,
                    What::Opinion,
                    What::Tables { sample: SAMPLE },
                    What::Expressions { random: RANDOM, seed: 1 },
                ] {
                    good &= self.check(&check, &kept, &cache)?;
                }
                good
            }
            What::Table(table) => self.table(&kept, table)?,
            check => self.check(check, &kept, &cache)?,
        };
        Ok((good, self.out))
    }

    fn check(&mut self, check: &What, kept: &[&Statement], cache: &Path) -> io::Result<bool> {
        let show = self.arguments.show;
        let (judge, out) = (&mut self.judge, &mut self.out);
        Ok(match check {
            What::Spans => spans::check(judge, kept, show).end(out),
            What::Splices => splices::check(judge, kept, cache, show)?.end(out),
            What::Opinion => opinion::check(judge, kept, show).end(out),
            What::Tables { sample } => tables::compare(judge, kept, cache, *sample, show)?.end(out),
            What::Expressions { random, seed } => {
                let fine = expressions::check(judge, kept, show)?.end(out);
                random_expressions::check(judge, *random, *seed, show)?.end(out) && fine
            }
            What::Table(_) | What::All | What::Ask { .. } => true,
        })
    }

    fn table(&mut self, kept: &[&Statement], arguments: &TableArguments) -> io::Result<bool> {
        let measure = Measure::of(kept.iter().copied(), self.judge.dialect, arguments.class.as_deref());
        let name = self.judge.name();
        self.out.push_str(&format!("\n{}\n{}", measure.table(&name), measure.causes(arguments.causes)));
        if let Some(file) = &arguments.dump {
            let mut out = fs::OpenOptions::new().create(true).append(true).open(file)?;
            for (class, statement, outcome) in &measure.unread {
                writeln!(out, "-- {name}, {}, [{}]: {outcome:?}", class.name(), statement.setting.sql_mode())?;
                out.write_all(&statement.text)?;
                out.write_all(b"\n\n")?;
            }
        }
        let below = measure.below();
        if arguments.check {
            below.iter().for_each(|line| self.out.push_str(&format!("TOO FEW: {name}: {line}\n")));
        }
        Ok(!arguments.check || below.is_empty())
    }

    fn ask(&mut self, run: bool, mode: &str, statements: &[String]) -> io::Result<()> {
        let mut client = self.judge.connect()?;
        let _ = client.execute(format!("SET sql_mode = '{mode}'").as_bytes())?;
        for statement in statements {
            let out = &mut self.out;
            client.prepare_all(&[statement.as_bytes()], |_, refusal| {
                let answer = refusal.map_or_else(|| "prepared".to_owned(), |refusal| refusal.to_string());
                out.push_str(&format!("{}: {statement}\n    {answer}\n", self.judge.name()));
            })?;
            if run {
                match client.query(statement.as_bytes())? {
                    Ok(rows) => rows.rows.iter().for_each(|row| out.push_str(&format!("    {}\n", row.escape_ascii()))),
                    Err(refusal) => out.push_str(&format!("    {refusal}\n")),
                }
            }
        }
        Ok(())
    }
}
