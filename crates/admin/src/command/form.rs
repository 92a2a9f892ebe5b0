//! The forms of commands, as [`super::Spec`] writes them.

/// A part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A word or sign that stands for itself.
    Keyword(&'static str),
    /// One word for the argument of this name.
    Argument(&'static str),
    /// All words that are left, for the argument of this name.
    Words(&'static str),
}

/// Parts that are present together or, if they are optional, absent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) parts: Vec<Part>,
    pub(super) optional: bool,
}

/// The groups of a form.
pub(super) fn read(form: &'static str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open = false;
    for word in form.split_whitespace() {
        if word == "…" || word == "…]" {
            make_last_take_all(&mut groups);
            open &= word == "…";
            continue;
        }
        if !open {
            groups.push(Group { parts: Vec::new(), optional: word.starts_with('[') });
            open = word.starts_with('[');
        }
        let group = groups.last_mut().expect("just pushed");
        group.parts.push(part(word.trim_start_matches('[').trim_end_matches(']')));
        open &= !word.ends_with(']');
    }
    groups
}

fn part(word: &'static str) -> Part {
    let name = word.trim_matches('\'');
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { Part::Argument(name) } else { Part::Keyword(word) }
}

fn make_last_take_all(groups: &mut [Group]) {
    if let Some(last) = groups.last_mut().and_then(|group| group.parts.last_mut())
        && let Part::Argument(name) = *last
    {
        *last = Part::Words(name);
    }
}

/// Whether the argument stands in brackets.
pub(super) fn is_optional(form: &'static str, argument: &str) -> bool {
    let names = |part: &Part| matches!(part, Part::Argument(name) | Part::Words(name) if *name == argument);
    read(form).iter().any(|group| group.optional && group.parts.iter().any(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_they_are_written() {
        let group = |parts: &[Part], optional| Group { parts: parts.to_vec(), optional };
        assert_eq!(
            read("SHOW CONFIG [LIKE 'pattern']"),
            [
                group(&[Part::Keyword("SHOW")], false),
                group(&[Part::Keyword("CONFIG")], false),
                group(&[Part::Keyword("LIKE"), Part::Argument("pattern")], true),
            ]
        );
        assert_eq!(read("HELP [command …]")[1], group(&[Part::Words("command")], true));
        assert_eq!(
            read("SET [=] level")[1..],
            [group(&[Part::Keyword("=")], true), group(&[Part::Argument("level")], false)]
        );
        assert!(is_optional("SHOW CONFIG [LIKE 'pattern']", "pattern"));
        assert!(!is_optional("KILL [CONNECTION] id", "id"));
    }
}
