//! The page that tells of Weir's own SQL (`docs/reference.md`): its definitions do over two shards what they say, of both kinds of server.

use weir_ddl::define::is_definition;
use weir_sql::Bump;

use crate::lab::Lab;
use crate::on_both;

const PAGE: &str = include_str!("../../../../docs/reference.md");

/// The examples: a text, and the code of the error that it gets.
fn examples() -> Vec<(&'static str, Option<u16>)> {
    let blocks = PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().expect("a block has an end"));
    let lines = blocks.flat_map(str::lines).filter(|line| !line.is_empty());
    let read = |line: &'static str| {
        let (text, said) = line.split_once(';').expect("a statement ends with a semicolon");
        let code = said.trim().strip_prefix("-- error ").map(|code| code.parse().expect("a code"));
        (text, code)
    };
    lines.map(read).collect()
}

async fn run(lab: &Lab, text: &str, code: Option<u16>) {
    let arena = Bump::new();
    let parsed = match weir_sql::parse(&arena, text.as_bytes(), lab.mode()) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert_eq!(code, Some(1064), "{text}: {error}");
            assert!(error.form().is_some(), "{text}: {error}");
            return;
        }
    };
    if !is_definition(&parsed.statements[0].kind) {
        assert_eq!(code, None, "{text}");
        return;
    }
    match (lab.define(text).await, code) {
        (Ok(Some(_)), None) => {}
        (Err(failure), Some(code)) => assert_eq!(failure.code, code, "{text}: {}", failure.message),
        (ended, _) => panic!("{text}: {ended:?}"),
    }
}

#[test]
fn all_examples_of_the_reference_do_what_it_says() {
    let examples = examples();
    assert!(examples.len() > 40, "{examples:?}");
    on_both(2, |lab| {
        let examples = examples.clone();
        async move {
            for (text, code) in examples {
                run(&lab, text, code).await;
            }
        }
    });
}
