use super::*;

const PLAIN: Capabilities = Capabilities::empty();
const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

fn execution(flags: u8, rest: &[u8]) -> Vec<u8> {
    [&[0x17, 5, 0, 0, 0, flags, 1, 0, 0, 0], rest].concat()
}

#[test]
fn an_execution_comes_back_with_another_id() {
    let payload = execution(0, &[0, 1, 8, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    let execute = Execute::parse(&payload, 1, PLAIN).expect("it is well formed");
    assert_eq!((execute.id, execute.types), (5, Some(&[8, 0][..])));
    let back = execute.encode(9, execute.types);
    assert_eq!(statement_id(&back), Ok(9));
    assert_eq!(back[5..], payload[5..]);
}

#[test]
fn types_sent_once_can_be_put_into_a_later_execution() {
    let payload = execution(0, &[0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    let execute = Execute::parse(&payload, 1, PLAIN).expect("it is well formed");
    assert_eq!(execute.types, None);
    assert_eq!(execute.encode(5, Some(&[8, 0])), execution(0, &[0, 1, 8, 0, 42, 0, 0, 0, 0, 0, 0, 0]));
}

#[test]
fn an_execution_with_attributes_keeps_their_names() {
    // One parameter and one attribute named "k": count 2, bitmap, types with names, values.
    let rest = [2, 0, 1, 3, 0, 0, 0xfd, 0, 1, b'k', 7, 0, 0, 0, 1, b'v'];
    let payload = execution(PARAMETER_COUNT_AVAILABLE, &rest);
    let execute = Execute::parse(&payload, 1, ATTRIBUTES).expect("it is well formed");
    assert_eq!((execute.params, execute.types), (2, Some(&[3, 0, 0, 0xfd, 0, 1, b'k'][..])));
    assert_eq!(execute.encode(5, execute.types), payload);
}

#[test]
fn parameters_are_counted_without_the_flag_too() {
    let payload = execution(0, &[1, 0, 1, 3, 0, 0, 7, 0, 0, 0]);
    let execute = Execute::parse(&payload, 1, ATTRIBUTES).expect("it is well formed");
    assert_eq!((execute.params, execute.types), (1, Some(&[3, 0, 0][..])));
    assert_eq!(execute.encode(5, execute.types), payload);
    let without = execution(0, &[]);
    let execute = Execute::parse(&without, 0, ATTRIBUTES).expect("it is well formed");
    assert_eq!((execute.params, execute.encode(5, None)), (0, without));
}

#[test]
fn untyped_nulls_get_the_types_of_earlier_executions() {
    let mut known = [None, None];
    let mut types = [8, 0, 6, 0];
    assert_eq!(settle_null_types(&mut types, &mut known, false), Ok(true));
    assert_eq!((types, known), ([8, 0, 6, 0], [Some([8, 0]), None]));
    let mut types = [6, 0, 1, b'a', 0xfd, 0, 1, b'b'];
    assert_eq!(settle_null_types(&mut types, &mut known, true), Ok(false));
    assert_eq!(types, [8, 0, 1, b'a', 0xfd, 0, 1, b'b']);
    assert!(!has_untyped(&types, true) && has_untyped(&[8, 0, 6, 0], false) && !has_untyped(&[], false));
    assert!(settle_null_types(&mut [8], &mut known, false).is_err());
}

#[test]
fn only_an_execution_whose_parameters_are_all_null_has_types_of_nulls() {
    let nulls = |count: u16, bitmap: &[u8], capabilities| {
        // With attributes, the parameters are counted.
        let counted: &[u8] = if capabilities == ATTRIBUTES { &[count as u8] } else { &[] };
        let payload = execution(0, &[counted, bitmap, &[0]].concat());
        let execute = Execute::parse(&payload, count, capabilities).expect("it is well formed");
        execute.types_of_nulls(capabilities == ATTRIBUTES)
    };
    assert_eq!(nulls(2, &[0b11], PLAIN), Some(vec![6, 0, 6, 0]));
    assert_eq!(nulls(1, &[1], ATTRIBUTES), Some(vec![6, 0, 0]));
    assert_eq!(nulls(9, &[0xff, 1], PLAIN).map(|types| types.len()), Some(18));
    assert_eq!(nulls(9, &[0xff, 0], PLAIN), None);
    assert_eq!(nulls(2, &[0b10], PLAIN), None);
    assert_eq!(nulls(0, &[], PLAIN), None);
}

#[test]
fn parameters_are_picked_in_another_order() {
    // 7 (INT), NULL, "ab" (VAR_STRING).
    let payload = execution(0, &[0b010, 1, 3, 0, 6, 0, 0xfd, 0, 7, 0, 0, 0, 2, b'a', b'b']);
    let execute = Execute::parse(&payload, 3, PLAIN).expect("it is well formed");
    let types = execute.types.expect("it brings types");
    let picked = execute.pick(&[2, 1, 0, 0], types, false).expect("they are there");
    let rest = [0b0010, 1, 0xfd, 0, 6, 0, 3, 0, 3, 0, 2, b'a', b'b', 7, 0, 0, 0, 7, 0, 0, 0];
    assert_eq!(picked.execute().encode(5, Some(&picked.types)), execution(0, &rest));
    let behind = execute.pick(&[2, 1], types, false).expect("they are there").behind_text(b"[]", false);
    assert_eq!((behind.count(), &behind.types[..2]), (3, &[TYPE_VAR_STRING, 0][..]));
    let (before, after) = (execute.pick(&[2, 1], types, false).expect("they are there"), behind.execute());
    assert_eq!(after.values(), [b"\x02[]", before.execute().values()].concat());
    assert!((0..2).all(|at| after.is_null(at + 1) == before.execute().is_null(at)) && !after.is_null(0));
    let none = execute.pick(&[], types, false).expect("none is asked for");
    assert_eq!(none.execute().encode(5, None), execution(0, &[]));
    assert!(execute.pick(&[3], types, false).is_err());
    assert!(execute.pick(&[0], &types[..3], false).is_err());
}

#[test]
fn picked_parameters_keep_their_names() {
    let rest = [2, 0, 1, 3, 0, 0, 0xfd, 0, 1, b'k', 7, 0, 0, 0, 1, b'v'];
    let payload = execution(PARAMETER_COUNT_AVAILABLE, &rest);
    let execute = Execute::parse(&payload, 1, ATTRIBUTES).expect("it is well formed");
    let picked = execute.pick(&[1, 0], execute.types.expect("it brings types"), true).expect("they are there");
    let rest = [2, 0, 1, 0xfd, 0, 1, b'k', 3, 0, 0, 1, b'v', 7, 0, 0, 0];
    let back = picked.execute().encode(5, Some(&picked.types));
    assert_eq!(back, execution(PARAMETER_COUNT_AVAILABLE, &rest));
}

#[test]
fn wrong_lengths_are_errors() {
    for cut in 1..10 {
        assert!(Execute::parse(&execution(0, &[])[..cut], 0, PLAIN).is_err(), "cut at {cut}");
    }
    assert!(Execute::parse(&execution(0, &[0, 1, 8]), 1, PLAIN).is_err());
    assert!(Execute::parse(&execution(8, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]), 1, ATTRIBUTES).is_err());
}

#[test]
fn the_text_begins_after_the_attributes() {
    assert_eq!(query_text_at(b"\x03SELECT 1", PLAIN), Ok(1));
    assert_eq!(query_text_at(b"\x03\x00\x01SELECT 1", ATTRIBUTES), Ok(3));
    let attributes = b"\x03\x01\x01\x00\x01\xfd\x00\x01k\x03abcSELECT 1";
    assert_eq!(query_text_at(attributes, ATTRIBUTES).map(|at| &attributes[at..]), Ok(&b"SELECT 1"[..]));
    assert!(query_text_at(b"\x03\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", ATTRIBUTES).is_err());
}
