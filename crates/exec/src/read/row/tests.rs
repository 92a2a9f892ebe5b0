use weir_wire::codec::{put_lenenc, put_lenenc_bytes};

use super::*;

const KINDS: [ColumnKind; 7] = [
    ColumnKind::Integer { width: 4, unsigned: false },
    ColumnKind::Bytes,
    ColumnKind::Double,
    ColumnKind::Date,
    ColumnKind::Decimal,
    ColumnKind::Time,
    ColumnKind::Integer { width: 1, unsigned: true },
];

/// A binary row of these values, as a server makes it.
fn binary(kinds: &[ColumnKind], values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut row = vec![0; 1 + (values.len() + 7 + 2) / 8];
    for (at, (kind, value)) in kinds.iter().zip(values).enumerate() {
        match value {
            None => row[1 + (at + 2) / 8] |= 1 << ((at + 2) % 8),
            Some(value) => {
                if !matches!(kind, ColumnKind::Integer { .. } | ColumnKind::Float | ColumnKind::Double) {
                    put_lenenc(&mut row, value.len() as u64);
                }
                row.extend_from_slice(value);
            }
        }
    }
    row
}

fn text(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut row = Vec::new();
    for value in values {
        match value {
            None => row.push(0xfb),
            Some(value) => put_lenenc_bytes(&mut row, value),
        }
    }
    row
}

/// Rows with every pattern of NULLs, and values of lengths whose forms differ.
fn rows(columns: usize) -> impl Iterator<Item = Vec<Option<Vec<u8>>>> {
    (0_usize..1 << columns).map(move |nulls| {
        let value = |at: usize| {
            let bytes = match KINDS[at % KINDS.len()] {
                ColumnKind::Integer { width, .. } => usize::from(width),
                ColumnKind::Float => 4,
                ColumnKind::Double => 8,
                ColumnKind::Bytes => [0, 1, 250, 251, 70_000][nulls % 5],
                _ => 4,
            };
            (nulls & 1 << at == 0).then(|| vec![at as u8 + 1; bytes])
        };
        (0..columns).map(value).collect()
    })
}

#[test]
fn a_row_that_is_cut_is_the_row_of_fewer_columns() {
    let kinds: Vec<ColumnKind> = KINDS.iter().copied().cycle().take(9).collect();
    let (mut spans, mut out) = (Vec::new(), Vec::new());
    for row in rows(9) {
        for keep in 1..=9 {
            let whole = binary(&kinds, &row);
            locate(Format::Binary, &kinds, keep, &whole, &mut spans).expect("it is well formed");
            let cut_row = cut(Format::Binary, 9, keep, &whole, &spans, &mut out);
            assert_eq!(cut_row, binary(&kinds[..keep], &row[..keep]), "{keep} columns");
            let whole = text(&row);
            locate(Format::Text, &kinds, keep, &whole, &mut spans).expect("it is well formed");
            assert_eq!(cut(Format::Text, 9, keep, &whole, &spans, &mut out), text(&row[..keep]));
        }
    }
}

#[test]
fn fields_are_found_in_both_formats() {
    let mut spans = Vec::new();
    for row in rows(7) {
        for (format, bytes) in [(Format::Text, text(&row)), (Format::Binary, binary(&KINDS, &row))] {
            locate(format, &KINDS, 7, &bytes, &mut spans).expect("it is well formed");
            let found: Vec<_> = spans.iter().map(|span| span.of(&bytes).map(<[u8]>::to_vec)).collect();
            assert_eq!(found, row, "{format:?}");
        }
    }
}

#[test]
fn rows_that_are_cut_short_are_malformed() {
    let row: Vec<_> = rows(7).next().expect("there is a row without NULLs");
    let mut spans = Vec::new();
    for (format, bytes) in [(Format::Text, text(&row)), (Format::Binary, binary(&KINDS, &row))] {
        for cut in 0..bytes.len() {
            assert!(locate(format, &KINDS, 7, &bytes[..cut], &mut spans).is_err(), "{format:?} cut at {cut}");
        }
    }
}
