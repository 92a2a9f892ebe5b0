use std::io::Write;

use super::*;

const TABLE: u64 = 77;

/// An event of this kind.
fn event(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&1_600_000_000_u32.to_le_bytes());
    out.push(kind);
    out.extend_from_slice(&5_u32.to_le_bytes());
    out.extend_from_slice(&(19 + body.len() as u32).to_le_bytes());
    out.extend_from_slice(&1234_u32.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(body);
    out
}

fn with_checksum(mut event: Vec<u8>) -> Vec<u8> {
    let size = event.len() as u32 + 4;
    event[9..13].copy_from_slice(&size.to_le_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&event);
    event.extend_from_slice(&crc.sum().to_le_bytes());
    event
}

fn table_id() -> [u8; 6] {
    let [a, b, c, d, e, f, ..] = TABLE.to_le_bytes();
    [a, b, c, d, e, f]
}

/// `d.t`: an INT, a VARCHAR(20), a JSON.
fn table_map() -> Vec<u8> {
    let mut body = table_id().to_vec();
    body.extend_from_slice(&[1, 0, 1, b'd', 0, 1, b't', 0]);
    body.extend_from_slice(&[3, types::LONG, types::VARCHAR, types::JSON]);
    body.extend_from_slice(&[3, 20, 0, 4, 0b110]);
    event(19, &body)
}

/// What stands before the rows of an event: which columns are in its images.
fn head(extra: bool, images: &[u8]) -> Vec<u8> {
    let mut body = table_id().to_vec();
    body.extend_from_slice(&[1, 0]);
    if extra {
        body.extend_from_slice(&[2, 0]);
    }
    body.push(3);
    body.extend_from_slice(images);
    body
}

/// An image of all columns.
fn row(id: i32, text: &str) -> Vec<u8> {
    let mut out = vec![0b100];
    out.extend_from_slice(&id.to_le_bytes());
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
    out
}

fn decoder() -> Decoder {
    let watched = vec![Watched { schema: "d".to_owned(), table: "t".to_owned() }];
    Decoder::new(watched, false, false)
}

/// What events say, in words.
fn told(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<String>, BinlogError> {
    let mut all = Vec::new();
    decoder.decode(bytes, &mut |_, event| {
        all.push(match event {
            Event::Rows(rows) => {
                let mut keys = Vec::new();
                rows.keys(&[1, 0], |image| {
                    let text = |(_, value): &(Field, Option<&[u8]>)| match value {
                        Some(bytes) if bytes.len() == 4 => {
                            i32::from_le_bytes((*bytes).try_into().expect("four bytes")).to_string()
                        }
                        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                        None => "NULL".to_owned(),
                    };
                    keys.push(image.iter().map(text).collect::<Vec<_>>().join(","));
                    Ok::<_, BinlogError>(())
                })?;
                format!("rows {}", keys.join(" "))
            }
            Event::Query { database, text } => {
                format!("{}: {}", String::from_utf8_lossy(database), String::from_utf8_lossy(text))
            }
            other => format!("{other:?}"),
        });
        Ok::<_, BinlogError>(())
    })?;
    Ok(all)
}

/// What the last of these says.
fn last(events: &[Vec<u8>]) -> String {
    let mut decoder = decoder();
    let all: Vec<String> = events.iter().flat_map(|one| told(&mut decoder, one).expect("it is well formed")).collect();
    all.last().cloned().expect("there is one")
}

fn query(text: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend_from_slice(&[1, 0, 0, 2, 0, 0xaa, 0xbb, b'd', 0]);
    body.extend_from_slice(text);
    body
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(vec![0x81, bytes.len() as u8], flate2::Compression::default());
    packed.write_all(bytes).expect("to memory");
    packed.finish().expect("to memory")
}

#[test]
fn keys_of_written_updated_and_deleted_rows_are_told() {
    let write = [head(true, &[0xff]), row(-5, "abc"), row(6, "")].concat();
    assert_eq!(last(&[table_map(), event(30, &write)]), "rows abc,-5 ,6");
    let update = [head(false, &[0xff, 0xff]), row(1, "one"), row(2, "two")].concat();
    assert_eq!(last(&[table_map(), event(24, &update)]), "rows two,2 one,1");
    let delete = [head(false, &[0xff]), vec![0b111]].concat();
    assert_eq!(last(&[table_map(), event(25, &delete)]), "rows NULL,NULL");
}

#[test]
fn what_the_second_image_of_an_update_leaves_out_is_that_of_the_first() {
    // Before: both columns of the key; after: only the text.
    let minimal = [head(true, &[0b011, 0b010]), vec![0, 7, 0, 0, 0, 1, b'a'], vec![0, 1, b'b']].concat();
    assert_eq!(last(&[table_map(), event(31, &minimal)]), "rows b,7 a,7");
    let without = [head(true, &[0b001]), vec![0, 7, 0, 0, 0]].concat();
    let mut decoder = decoder();
    told(&mut decoder, &table_map()).expect("it is well formed");
    assert_eq!(told(&mut decoder, &event(30, &without)), Err(BinlogError::KeyMissing));
}

#[test]
fn documents_may_be_updated_in_part() {
    let mut after = vec![1, 0b1, 0b000];
    after.extend_from_slice(&8_i32.to_le_bytes());
    after.extend_from_slice(&[1, b'x', 2, 0, 0, 0, 9, 9]);
    let update = [head(true, &[0xff, 0xff]), row(1, "w"), after].concat();
    assert_eq!(last(&[table_map(), event(39, &update)]), "rows x,8 w,1");
}

#[test]
fn compressed_events_of_mariadb_are_unpacked() {
    let rows = [head(false, &[0xff]), zlib(&[row(1, "packed"), row(2, "too")].concat())].concat();
    assert_eq!(last(&[table_map(), event(166, &rows)]), "rows packed,1 too,2");
    let text = query(&zlib(b"DROP TABLE t"));
    assert_eq!(last(&[event(165, &text)]), "d: DROP TABLE t");
    assert_eq!(last(&[event(2, &query(b"BEGIN"))]), "d: BEGIN");
}

#[test]
fn compressed_transactions_of_mysql_are_taken_apart() {
    let write = [head(true, &[0xff]), row(3, "in")].concat();
    let inner = [table_map(), event(30, &write), event(16, &[0; 8])].concat();
    let packed = zstd::encode_all(&inner[..], 1).expect("to memory");
    let payload = |compression: &[u8], bytes: &[u8]| {
        let fields = [&[2, compression.len() as u8][..], compression, &[1, 1, 99, 0]].concat();
        event(40, &[&fields[..], bytes].concat())
    };
    for bytes in [payload(&[0], &packed), payload(&[0xfc, 255, 0], &inner)] {
        assert_eq!(
            told(&mut decoder(), &bytes),
            Ok(vec!["Other".to_owned(), "rows in,3".to_owned(), "Commit".to_owned()])
        );
    }
    assert!(told(&mut decoder(), &payload(&[9], &packed)).is_err(), "an unknown compression");
    assert!(told(&mut decoder(), &payload(&[0], &packed[..packed.len() - 3])).is_err(), "cut short");
}

#[test]
fn gtids_and_branches_have_their_names() {
    let gtid = [&[0][..], &(1..=16).collect::<Vec<u8>>(), &9_u64.to_le_bytes()].concat();
    let uuid = "01020304-0506-0708-090a-0b0c0d0e0f10";
    assert!(last(&[event(33, &gtid)]).contains(&format!("\"{uuid}:9\"")));
    assert!(last(&[event(34, &gtid)]).contains("text: None"));
    // Each number is shifted by the bits that say how many bytes follow.
    let mut tagged: Vec<u8> = [2, 100, 3, 0, 1, 1].iter().map(|number| number << 1).collect();
    tagged.extend((1..=16_u8).map(|byte| byte << 1));
    // The number 300, signed; then the tag.
    let number = (600_u16 << 2 | 1).to_le_bytes();
    tagged.extend_from_slice(&[2 << 1, number[0], number[1], 3 << 1, 3 << 1, b't', b'a', b'g']);
    assert!(last(&[event(42, &tagged)]).contains(&format!("\"{uuid}:tag:300\"")));
    let mariadb = [&20_u64.to_le_bytes()[..], &1_u32.to_le_bytes(), &[1]].concat();
    let said = last(&[event(162, &mariadb)]);
    assert!(said.contains("\"1-5-20\"") && said.contains("standalone: Some(true)"), "{said}");
    let prepare = [&[0][..], &7_u32.to_le_bytes(), &2_u32.to_le_bytes(), &1_u32.to_le_bytes(), b"abc"].concat();
    let xid = Xid { format: 7, global: b"ab".to_vec(), branch: b"c".to_vec() };
    assert_eq!(last(&[event(38, &prepare)]), format!("Prepare {{ xid: {xid:?}, one_phase: false }}"));
    assert_eq!(Xid::parse("X'6162',X'63',7"), Some(xid));
    assert_eq!(Xid::parse("X'6162'").map(|xid| (xid.format, xid.branch)), Some((1, Vec::new())));
    assert_eq!(Xid::parse("X'616'"), None);
}

#[test]
fn checksums_are_checked_where_the_log_has_them() {
    let mut format = vec![0; 60];
    format.extend_from_slice(&[1, 0, 0, 0, 0]);
    let mut decoder = decoder();
    told(&mut decoder, &event(15, &format)).expect("a format");
    let rotate = with_checksum(event(4, &[&4_u64.to_le_bytes()[..], b"bin.000002"].concat()));
    let said = told(&mut decoder, &rotate).expect("it is whole");
    assert!(said[0].contains("position: 4") && said[0].contains(&format!("{:?}", b"bin.000002")), "{said:?}");
    let mut broken = rotate;
    broken[25] ^= 1;
    assert_eq!(told(&mut decoder, &broken), Err(BinlogError::Checksum));
}

#[test]
fn rows_of_other_tables_are_not_looked_at_and_tables_that_have_changed_are_errors() {
    let write = [head(true, &[0xff]), row(3, "in")].concat();
    assert_eq!(last(&[event(30, &write)]), "Other");
    let mut other = Decoder::new(vec![Watched { schema: "D".to_owned(), table: "T".to_owned() }], true, false);
    told(&mut other, &table_map()).expect("a table");
    assert_eq!(told(&mut other, &event(30, &write)), Ok(vec!["rows in,3".to_owned()]));
    let wider = {
        let mut body = table_id().to_vec();
        body.extend_from_slice(&[1, 0, 2, 0, 9, 0xff, 0xff]);
        body
    };
    assert_eq!(told(&mut other, &event(30, &wider)), Err(BinlogError::OtherColumns));
    assert_eq!(told(&mut other, &event(26, &[1, 0])), Err(BinlogError::Incident));
}

#[test]
fn events_that_are_cut_short_are_errors() {
    let write = event(30, &[head(true, &[0xff]), row(-5, "abc")].concat());
    let prepare =
        event(38, &[&[0][..], &7_u32.to_le_bytes(), &2_u32.to_le_bytes(), &1_u32.to_le_bytes(), b"abc"].concat());
    for whole in [table_map(), write, prepare, event(2, &query(b""))] {
        for cut in 0..whole.len() {
            let mut decoder = decoder();
            told(&mut decoder, &table_map()).expect("a table");
            let mut bytes = whole[..cut].to_vec();
            assert!(told(&mut decoder, &bytes).is_err(), "cut at {cut}");
            if cut >= 19 {
                bytes[9..13].copy_from_slice(&(cut as u32).to_le_bytes());
                let said = told(&mut decoder, &bytes);
                // Rows may end between two of them, optional parts of a table be missing.
                assert!(said.is_err() || cut >= 19 + 8, "cut at {cut}: {said:?}");
            }
        }
    }
}
