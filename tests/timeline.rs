//! Timeline files: what is written is read, and what is wrong with a file is said and costs nothing else.

use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use proptest::prelude::*;
use vramscope::domain::{
    Ancestor, Bytes, Certainty, Details, Device, DeviceId, DeviceState, Finding, FindingKind, FullIn, Gpu, Header, Health,
    Holder, HolderKind, HostMemory, Job, MemoryFigures, MemoryKind, Missing, OpenHandle, Period, Pid, ProbeKind, Process,
    ProcessKey, ProcessUsage, Quantity, Reading, Relation, Risk, RiskLevel, Sample, SampleBody, Timestamp, Usage, Wall,
};
use vramscope::timeline::format::MAX_TIME;
use vramscope::timeline::{Problem, ReadError, Reader, Record, Writer};

/// The lines of DESIGN.md section 5 with its dots filled in.
pub const CONTRACT: &str = r#"{"type":"header","format":"vramscope-timeline","version":1,"created":"2026-11-30T14:00:00.123456Z","source":"nvml","simulated":false,"host":"node17","driver":"570.86.15","cuda":"12.8","me":"user1"}
{"type":"device","t":0,"gpu":0,"uuid":"GPU-1","index":0,"pci":"0000:1b:00.0","name":"NVIDIA H100 80GB HBM3","memory":"dedicated","total":85520809984,"parent":null}
{"type":"process","t":0,"pid":4242,"start":881234,"started":"2026-11-30T13:58:00Z","ppid":4200,"user":"user1","uid":1000,"relation":"job","command":"python train.py","container":null}
{"type":"memory","t":0.05,"gpu":0,"used":34359738368,"free":50658803712,"reserved":502267904}
{"type":"holders","t":1.0,"gpu":0,"holders":[{"pid":4242,"used":34347155456,"kind":"C"}]}
{"type":"usage","t":1.0,"gpu":0,"utilization":97,"temperature":61,"power":512.5,"processes":[{"pid":4242,"gpu":95,"cpu":104.0,"rss":5368709120,"state":"R"}]}
{"type":"host","t":1.0,"total":1081101176832,"available":969594175488,"swap_used":171798691}
{"type":"finding","t":12.4,"n":3,"gpu":0,"kind":"spike","certainty":"fact","pid":4242,"from":12.1,"to":12.3,"evidence":{"height":35651584000,"peak":70011322368},"advice":[{"tip":"reduce_batch_accumulate","saves":[8000000000,12000000000],"why":"half the batch"}]}
{"type":"risk","t":12.4,"gpu":0,"level":"high","full_in":{"lo":60.0,"mid":85.0,"hi":120.0},"job":null,"headroom":5000000000,"request":67108864,"reason":"it grows"}
{"type":"state","t":20.0,"gpu":0,"state":"stalled","call":"nvmlDeviceGetMemoryInfo_v2"}
{"type":"gap","t":24.2,"gpu":0,"from":20.0,"reason":"driver did not answer"}
{"type":"mark","t":30.0,"text":"epoch 2"}
{"type":"action","t":50.0,"what":"signal:USR1","pid":4242,"dry_run":false}
{"type":"oom","t":59.9,"explanation":{"kind":"device_oom"}}
{"type":"clock","t":60,"wall":"2026-11-30T14:01:00.123Z"}
{"type":"exit","t":60.0,"pid":4242,"status":1}
{"type":"end","t":61.0,"reason":"interrupted"}
"#;

fn open(bytes: impl Into<Vec<u8>>) -> Result<Reader, ReadError> {
    Reader::new("a file".to_owned(), Box::new(Cursor::new(bytes.into())))
}

/// The records of a file and what was wrong with it.
fn read(bytes: impl Into<Vec<u8>>) -> (Vec<Record>, Vec<Problem>) {
    let mut reader = open(bytes).unwrap();
    let records = reader.by_ref().collect();
    (records, reader.problems().list())
}

fn write(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.record(record).unwrap();
    }
    writer.into_inner()
}

fn samples(records: &[Record]) -> Vec<Sample> {
    let sample = |record: &Record| if let Record::Sample(sample) = record { Some(sample.clone()) } else { None };
    records.iter().filter_map(sample).collect()
}

/// Texts of problems, for messages.
fn said(problems: &[Problem]) -> String {
    let said: Vec<String> =
        problems.iter().map(|problem| format!("{:?}: {} ({})", problem.line, problem.text, problem.lost)).collect();
    said.join("\n")
}

#[test]
fn the_contract_is_read_to_the_letter() {
    let (records, problems) = read(CONTRACT);
    assert_eq!(records.len(), CONTRACT.lines().count());
    assert_eq!(problems, []);
    let all = samples(&records);
    let at = |n: usize| &all[n];
    assert!(matches!(&at(0).body, SampleBody::Header(header) if header.created == Wall(1_796_047_200_123_456)
            && &*header.source == "nvml" && !header.simulated && header.driver == Ok("570.86.15".into())));
    assert!(matches!(&at(1).body, SampleBody::Device(device) if device.id == DeviceId("GPU-1".into()) && device.index == Some(0)
            && device.total == Ok(Bytes(85_520_809_984)) && device.memory == MemoryKind::Dedicated && device.parent.is_none()));
    let key = ProcessKey { pid: Pid(4242), start: Some(881_234) };
    assert!(matches!(&at(2).body, SampleBody::Process(process) if process.key == key && process.relation == Relation::Job
            && process.uid == Ok(1000) && process.command == Ok("python train.py".into())));
    assert_eq!(at(3).t, Timestamp::millis(50));
    assert!(matches!(&at(3).body, SampleBody::Memory { gpu: Gpu(0), figures: Ok(figures) }
            if figures.used() == Bytes(34_359_738_368) && figures.free == Bytes(50_658_803_712)
            && figures.reserved == Some(Bytes(502_267_904)) && figures.total == Bytes(85_520_809_984)));
    assert!(matches!(&at(4).body, SampleBody::Holders { list: Ok(list), .. } if list[0].pid == Pid(4242)
            && list[0].used == Ok(Bytes(34_347_155_456)) && list[0].kind == HolderKind::C));
    assert!(matches!(&at(5).body, SampleBody::Usage(usage) if usage.utilization == Ok(97.0) && usage.power == Ok(512.5)
            && usage.processes[0].cpu == Ok(104.0) && usage.processes[0].state == Ok('R')));
    assert!(matches!(&at(7).body, SampleBody::State { gpu: Some(Gpu(0)), state: DeviceState::Stalled, call: Some(call), .. }
            if *call == "nvmlDeviceGetMemoryInfo_v2"));
    assert!(matches!(&records[7], Record::Finding(finding) if finding.n == 3 && finding.kind == FindingKind::Spike
        && finding.bytes("height") == Some(Bytes(35_651_584_000)) && finding.advice[0].tip == "reduce_batch_accumulate"));
    let full = FullIn { lo: Period::secs(60), mid: Period::secs(85), hi: Period::secs(120) };
    assert!(matches!(&records[8], Record::Risk(risk) if risk.level == RiskLevel::High && risk.full_in == Some(full)));
    // What this program writes of it is what it reads of that, and the same again.
    let once = write(&records);
    let (again, problems) = read(once.clone());
    assert_eq!(problems, []);
    assert_eq!(samples(&again), all);
    assert_eq!(String::from_utf8(write(&again)).unwrap(), String::from_utf8(once).unwrap());
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let more = CONTRACT.replace(r#""type":"memory","#, r#""type":"memory","numa":[1,{"a":[[]]}],"#)
        + "{\"type\":\"weather\",\"t\":62,\"sky\":\"blue\"}\n{\"type\":\"finding\",\"t\":62,\"n\":4,\"gpu\":0,\"kind\":\"magic\",\"certainty\":\"fact\",\"from\":1}\n";
    let (records, problems) = read(more);
    assert_eq!((records.len(), problems), (CONTRACT.lines().count(), vec![]));
}

#[test]
fn key_order_and_spaces_do_not_matter() {
    let lines: Vec<String> = CONTRACT
        .lines()
        .map(|line| {
            let value: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            // Maps of this library are sorted by name: the type comes late.
            serde_json::to_string_pretty(&value).unwrap().replace('\n', " ")
        })
        .collect();
    let (records, problems) = read(format!("\u{feff}{}\r\n", lines.join("\r\n\n")));
    assert_eq!(problems, []);
    assert_eq!(samples(&records), samples(&read(CONTRACT).0));
}

#[test]
fn what_is_absent_is_missing_and_never_zero() {
    let head = r#"{"type":"header","format":"vramscope-timeline","version":1,"created":"2026-11-30T14:00:00Z"}"#;
    let (records, problems) = read(format!(
        "{head}\n{}",
        r#"{"type":"device","t":0,"gpu":3,"uuid":"GPU-3"}
{"type":"process","t":0,"pid":7}
{"type":"memory","t":1,"gpu":3,"used":5}
{"type":"memory","t":1,"gpu":3,"used":null,"used_pct":12.5}
{"type":"memory","t":1,"gpu":3}
{"type":"holders","t":2,"gpu":3,"holders":[{"pid":7}]}
{"type":"holders","t":2,"gpu":3}
{"type":"usage","t":2,"gpu":3}
{"type":"end","t":2}
"#
    ));
    assert_eq!(problems, []);
    let absent =
        |reading: &dyn std::fmt::Debug| assert_eq!(format!("{reading:?}"), r#"Err(Unsupported("not in the recording"))"#);
    let all = samples(&records);
    let SampleBody::Header(header) = &all[0].body else { panic!("{:?}", all[0]) };
    absent(&header.driver);
    let SampleBody::Device(device) = &all[1].body else { panic!("{:?}", all[1]) };
    absent(&device.total);
    let SampleBody::Process(process) = &all[2].body else { panic!("{:?}", all[2]) };
    absent(&process.command);
    assert_eq!((process.key.start, process.relation), (None, Relation::Unknown));
    assert!(matches!(&records[3], Record::Partial(partial) if partial.used == Some(Bytes(5)) && partial.free.is_none()));
    assert!(matches!(&records[4], Record::Partial(partial) if partial.used.is_none() && partial.used_pct == Some(12.5)));
    let SampleBody::Memory { figures, .. } = &all[3].body else { panic!("{:?}", all[3]) };
    absent(figures);
    let SampleBody::Holders { list: Ok(list), .. } = &all[4].body else { panic!("{:?}", all[4]) };
    absent(&list[0].used);
    let SampleBody::Holders { list, .. } = &all[5].body else { panic!("{:?}", all[5]) };
    absent(list);
    let SampleBody::Usage(usage) = &all[6].body else { panic!("{:?}", all[6]) };
    absent(&usage.utilization);
}

#[test]
fn bad_lines_are_named_and_the_rest_is_used() {
    let deep = format!("{{\"type\":\"mark\",\"t\":1,\"deep\":{}", "[".repeat(100_000));
    for (bad, words) in [
        ("nonsense", "expected"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":NaN}", "expected value"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":-1,\"free\":1}", "invalid value"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":1e400,\"free\":1}", "number out of range"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":99999999999999999999,\"free\":1}", "invalid type"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":1.5,\"free\":1}", "invalid type"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":4294967296,\"used\":1,\"free\":1}", "u32"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":1,\"used\":2,\"free\":1}", "duplicate field `used`"),
        ("{\"type\":\"memory\",\"t\":-1,\"gpu\":0}", "out of range"),
        ("{\"type\":\"memory\",\"t\":1e300,\"gpu\":0}", "out of range"),
        ("{\"type\":\"memory\",\"gpu\":0}", "missing field `t`"),
        ("{\"type\":\"state\",\"t\":1,\"gpu\":0,\"state\":\"asleep\"}", "`state` can't be `asleep`"),
        ("{\"type\":\"process\",\"t\":1,\"pid\":1,\"started\":\"yesterday\"}", "`started` can't be `yesterday`"),
        ("{\"t\":1}", "missing field `type`"),
        ("[1]", "invalid"),
        (deep.as_str(), "EOF"),
    ] {
        let mut lines: Vec<&str> = CONTRACT.lines().collect();
        lines.insert(3, bad);
        let (records, problems) = read(lines.join("\n"));
        assert_eq!(records.len(), CONTRACT.lines().count(), "{bad:.60}");
        assert_eq!(problems.len(), 1, "{bad:.60}: {}", said(&problems));
        let problem = &problems[0];
        assert!(problem.lost && problem.line == Some(4) && problem.text.contains(words), "{bad:.60}: {}", said(&problems));
        assert!(problem.text.chars().count() <= 300);
    }
    let (records, problems) = read([CONTRACT.as_bytes(), b"{\"type\":\"mark\",\"t\":62,\"text\":\"\xff\xfe\"}\n"].concat());
    assert_eq!(records.len(), CONTRACT.lines().count());
    assert!(problems.iter().any(|problem| problem.lost && problem.text.contains("unicode")), "{}", said(&problems));
}

#[test]
fn hostile_texts_are_harmless() {
    let hostile = r#"{"type":"mark","t":62,"text":"a\u001b]0;x\u0007\u202e\u2028b\nc"}"#;
    let (records, _) = read(CONTRACT.to_owned() + hostile + "\n");
    let all = samples(&records);
    assert!(matches!(&all.last().unwrap().body, SampleBody::Mark(text) if &**text == "a·]0;x···b·c"));
}

#[test]
fn more_devices_holders_or_calls_than_any_machine_has_are_refused() {
    let devices: Vec<String> =
        (0..10_000).map(|n| format!("{{\"type\":\"device\",\"t\":61,\"gpu\":{n},\"uuid\":\"GPU-{n}\"}}")).collect();
    let (records, problems) = read(CONTRACT.to_owned() + &devices.join("\n"));
    assert_eq!(records.len() - CONTRACT.lines().count(), 256);
    assert!(problems.iter().any(|problem| problem.text.contains("more than 256 devices")), "{}", said(&problems));
    let list = vec!["{\"pid\":1,\"used\":1,\"kind\":\"C\"}"; 5_000].join(",");
    let (_, problems) = read(format!("{CONTRACT}{{\"type\":\"holders\",\"t\":61,\"gpu\":0,\"holders\":[{list}]}}\n"));
    assert!(problems[0].text.contains("more than 4096 holders"), "{}", said(&problems));
    let state = |n| format!("{{\"type\":\"state\",\"t\":61,\"gpu\":0,\"state\":\"failed\",\"call\":\"call {n}\"}}");
    let states: Vec<String> = (0..1_000).map(state).collect();
    let (records, _) = read(CONTRACT.to_owned() + &states.join("\n"));
    assert!(
        matches!(samples(&records).last().unwrap().body, SampleBody::State { call: Some("a call of the driver"), .. }),
        "names are not kept without end"
    );
}

/// Bytes without end, of which only few may be asked for.
struct Endless(u64, u8);
impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0 += buffer.len() as u64;
        assert!(self.0 < 1 << 20, "read on and on");
        buffer.fill(self.1);
        Ok(buffer.len())
    }
}

#[test]
fn what_is_no_timeline_is_refused_early_and_by_what_it_is() {
    let newer = CONTRACT.replacen("\"version\":1", "\"version\":2", 1);
    let foreign = CONTRACT.replacen("vramscope-timeline", "other-timeline", 1);
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"\n\n", "no header record"),
        (b"timestamp, memory.used [MiB]\n2026, 1\n", "no header record"),
        (b"{\"type\":\"memory\",\"t\":1,\"gpu\":0}\n", "no header record"),
        (b"\x1f\x8b\x08\x00\x00\x00", "zcat"),
        (b"\xfd7zXZ\x00", "xzcat"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "not text"),
        (newer.as_bytes(), "version 2"),
        (foreign.as_bytes(), "no header record"),
        (b"{\"type\":\"header\",\"format\":\"vramscope-timeline\",\"version\":1,\"created\":\"soon\"}\n", "`created`"),
        (b"{\"type\":\"header\",\"format\":\"vramscope-timeline\",\"vers", "EOF"),
        (b"\x28\xb5\x2f\xfd\x04", "its beginning can't be read"),
    ] {
        let error = open(bytes).err().unwrap_or_else(|| panic!("{} is read", bytes.escape_ascii()));
        assert!(error.to_string().contains(words) && error.to_string().starts_with("a file"), "{error}");
    }
    // Without end, and never asked for more than a little.
    for byte in [0, b'x', b'{'] {
        let error = Reader::new("it".to_owned(), Box::new(Endless(0, byte))).err().unwrap();
        assert!(error.to_string().contains("it is no vramscope timeline"), "{error}");
    }
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_its_last_whole_record() {
    let all: Vec<String> = read(CONTRACT).0.iter().map(|record| format!("{record:?}")).collect();
    let head = CONTRACT.find('\n').unwrap();
    for cut in 0..CONTRACT.len() {
        let part = CONTRACT.get(..cut).unwrap();
        if cut < head {
            assert!(open(part).is_err(), "without a header: {cut}");
            continue;
        }
        let (records, problems) = read(part);
        let records: Vec<String> = records.iter().map(|record| format!("{record:?}")).collect();
        let whole =
            part.lines().filter(|line| line.ends_with('}') && serde_json::from_str::<serde_json::Value>(line).is_ok()).count();
        assert_eq!(records, all[..whole], "cut at {cut}");
        let broken = part.lines().count() > whole;
        assert_eq!(problems.iter().any(|problem| problem.lost), broken, "cut at {cut}: {}", said(&problems));
        assert!(whole == all.len() || !problems.is_empty(), "cut at {cut}: not a word");
    }
}

/// The contract's lines in zstd frames of so many lines, as the recorder makes them.
fn frames(lines: usize) -> Vec<Vec<u8>> {
    let all: Vec<&str> = CONTRACT.lines().collect();
    let frame = |lines: &[&str]| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        for line in lines {
            writeln!(encoder, "{line}").unwrap();
        }
        encoder.finish().unwrap()
    };
    all.chunks(lines).map(frame).collect()
}

#[test]
fn frames_are_read_as_one_and_skippable_ones_are_skipped() {
    let note = [&0x184D_2A50_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), b"seek"].concat();
    for first in [&[][..], &note] {
        let (records, problems) = read([first, &frames(3).join(&note[..])].concat());
        assert_eq!((records.len(), problems), (CONTRACT.lines().count(), vec![]));
    }
}

#[test]
fn a_packed_file_cut_anywhere_says_so() {
    let all: Vec<String> = read(CONTRACT).0.iter().map(|record| format!("{record:?}")).collect();
    let frames = frames(4);
    let first = frames[0].len();
    let file = frames.concat();
    for cut in 0..file.len() {
        let Ok(mut reader) = open(&file[..cut]) else {
            assert!(cut < first, "cut at {cut}");
            continue;
        };
        let records: Vec<String> = reader.by_ref().map(|record| format!("{record:?}")).collect();
        assert_eq!(records, all[..records.len()], "cut at {cut}");
        assert!(!reader.problems().list().is_empty(), "cut at {cut}: not a word");
    }
}

#[test]
fn a_flipped_bit_costs_its_frame_and_is_said() {
    let frames = frames(4);
    let all: Vec<String> = read(CONTRACT).0.iter().map(|record| format!("{record:?}")).collect();
    let second = frames[0].len()..frames[0].len() + frames[1].len();
    let file = frames.concat();
    for bit in second.start * 8..second.end * 8 {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        let (records, problems) = read(file);
        let records: Vec<String> = records.iter().map(|record| format!("{record:?}")).collect();
        assert_eq!(records[..4], all[..4], "bit {bit}");
        // Some bits say nothing, such as those of a larger window.
        assert!(records == all || problems.iter().any(|problem| problem.lost), "bit {bit} changed something, and not a word");
        let last = |records: &[String]| records.last().cloned();
        assert_eq!(last(&records), last(&all), "bit {bit}: what comes after the frame: {}", said(&problems));
    }
}

#[test]
fn recordings_one_after_the_other_are_one_with_a_gap() {
    let later = CONTRACT.replace("14:00:00.123456Z", "14:10:00.123456Z");
    let (records, problems) = read(CONTRACT.to_owned() + &later);
    assert_eq!(records.len(), 2 * CONTRACT.lines().count() + 1, "{}", said(&problems));
    assert_eq!(records.last().unwrap().t(), Timestamp::secs(661));
    let gap = |sample: &Sample| matches!(&sample.body, SampleBody::Gap { from, .. } if *from == Timestamp::secs(61));
    assert_eq!(
        samples(&records).iter().filter(|sample| gap(sample)).map(|gap| gap.t).collect::<Vec<_>>(),
        [Timestamp::secs(600)]
    );
    assert!(problems.len() == 1 && !problems[0].lost && problems[0].text.contains("another recording"), "{}", said(&problems));
    // One that began before the first ended can't be told apart in time.
    let (records, problems) = read(CONTRACT.to_owned() + CONTRACT);
    assert_eq!(records.len(), CONTRACT.lines().count());
    assert!(problems.len() == 1 && problems[0].lost && problems[0].line == Some(18), "{}", said(&problems));
    // What was simulated once stays called so.
    let simulated = later.replacen("\"simulated\":false", "\"simulated\":true", 1);
    let headers = |text: String| -> Vec<bool> {
        let header = |sample: &Sample| if let SampleBody::Header(header) = &sample.body { Some(header.simulated) } else { None };
        samples(&read(text).0).iter().filter_map(header).collect()
    };
    assert_eq!(headers(CONTRACT.to_owned() + &simulated), [false, true]);
    let newer = later.replacen("\"version\":1", "\"version\":9", 1);
    let (records, problems) = read(CONTRACT.to_owned() + &newer);
    assert_eq!(records.len(), CONTRACT.lines().count());
    assert!(problems.len() == 1 && problems[0].lost && problems[0].text.contains("version 9"), "{}", said(&problems));
}

#[test]
fn a_header_that_comes_again_with_more_facts_is_no_other_recording() {
    let head = CONTRACT.lines().next().unwrap().replace("\"cuda\":\"12.8\"", "\"cuda\":\"12.9\",\"t\":61.5");
    let (records, problems) = read(format!("{CONTRACT}{head}\n{{\"type\":\"end\",\"t\":62}}\n"));
    assert_eq!(problems, []);
    assert!(matches!(&samples(&records).last().unwrap().body, SampleBody::Header(header) if header.cuda == Ok("12.9".into())));
}

#[test]
fn time_that_goes_back_or_leaps_is_left_out() {
    let line = |t: f64| format!("{{\"type\":\"mark\",\"t\":{t},\"text\":\"{t}\"}}\n");
    let marks = |times: &[f64]| {
        let (records, problems) = read(CONTRACT.to_owned() + &times.iter().map(|t| line(*t)).collect::<String>());
        let mark = |sample: &Sample| if let SampleBody::Mark(text) = &sample.body { text.parse().ok() } else { None };
        let kept: Vec<f64> = samples(&records).iter().filter_map(mark).collect();
        (kept, problems.iter().filter(|problem| problem.lost).count())
    };
    assert_eq!(marks(&[62.0, 61.2, 63.0]), (vec![62.0, 61.2, 63.0], 0), "threads are heard in any order");
    assert_eq!(marks(&[62.0, 3.0, 63.0]), (vec![62.0, 63.0], 1));
    assert_eq!(marks(&[62.0, 9e6, 63.0, 64.0]), (vec![62.0, 63.0, 64.0], 1), "a broken digit");
    assert_eq!(marks(&[62.0, 9e6, 9e6 + 1.0]), (vec![62.0, 9e6, 9e6 + 1.0], 0), "a suspend");
    assert_eq!(marks(&[62.0, 9e6]), (vec![62.0, 9e6], 0));
    assert_eq!(marks(&[62.0, 9e6, 3.0, 63.0]), (vec![62.0, 63.0], 2));
}

#[test]
fn a_bomb_is_given_up_in_bounded_memory() {
    // 100 MB without a line feed are one line; more than 256 MiB without a record are the end of patience.
    let long = "x".repeat(100_000_000);
    let (records, problems) = read(format!("{CONTRACT}{long}\n{{\"type\":\"end\",\"t\":62}}\n"));
    assert_eq!(records.len(), CONTRACT.lines().count() + 1);
    assert!(problems.len() == 1 && problems[0].text.contains("longer than any record"), "{}", said(&problems));
    let block = vec![b'x'; 1 << 20];
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(CONTRACT.as_bytes()).unwrap();
    for _ in 0..300 {
        encoder.write_all(&block).unwrap();
    }
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    for file in
        [packed, [CONTRACT.as_bytes(), &b"\n".repeat(300_000)].concat(), [CONTRACT.as_bytes(), &b"no\n".repeat(300_000)].concat()]
    {
        let (records, problems) = read(file);
        assert_eq!(records.len(), CONTRACT.lines().count());
        assert!(
            problems.iter().any(|problem| problem.lost && problem.text.contains("the rest is not read")),
            "{}",
            said(&problems)
        );
    }
}

// What follows makes streams at random.

fn word() -> impl Strategy<Value = Arc<str>> {
    "[ -~äß·…]{0,12}".prop_map(Arc::from)
}

fn missing() -> impl Strategy<Value = Missing> {
    prop_oneof![
        Just(Missing::Pending),
        "[ -~]{0,9}".prop_map(|text| Missing::Unsupported(text.into())),
        "[ -~]{0,9}".prop_map(|text| Missing::Denied(text.into())),
        "[ -~]{0,9}".prop_map(|text| Missing::Lost(text.into())),
        "[ -~]{0,9}".prop_map(|text| Missing::Failed(text.into())),
    ]
}

fn reading<T: std::fmt::Debug + Clone>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![3 => of.prop_map(Ok), 1 => missing().prop_map(Err)]
}

fn gpu() -> impl Strategy<Value = Gpu> {
    (0..3_u32).prop_map(Gpu)
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(0), any::<u64>(), 0..100_u64 << 30].prop_map(Bytes)
}

fn percent() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0), 0.0..6_400.0_f32, any::<f32>().prop_filter("finite", |value| value.is_finite())]
}

/// A time within the file, and spans: no microsecond may be lost.
fn micros() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_000_u64, 0..MAX_TIME.0]
}

fn key() -> impl Strategy<Value = ProcessKey> {
    (any::<u32>(), any::<Option<u64>>()).prop_map(|(pid, start)| ProcessKey { pid: Pid(pid), start })
}

fn process() -> impl Strategy<Value = Process> {
    let relation = prop_oneof![Just(Relation::Job), Just(Relation::Mine), Just(Relation::Foreign), Just(Relation::System)];
    let started = (0..4_000_000_000_000_000_i64).prop_map(Wall);
    let job = (key(), word(), reading(word())).prop_map(|(leader, launcher, command)| Job { leader, launcher, command });
    let parent = (key(), word()).prop_map(|(key, name)| Ancestor { key, name });
    let fact = || reading(proptest::option::of(word()));
    let details = (reading(word()), proptest::collection::vec(parent, 0..3), fact(), fact(), fact()).prop_map(
        |(cwd, parents, batch, environment, session)| Details { cwd, parents: parents.into(), batch, environment, session },
    );
    let who = (reading(any::<u32>().prop_map(Pid)), reading(word()), reading(any::<u32>()), relation);
    let more = (reading(word()), proptest::option::of(word()), proptest::option::of(job), proptest::option::of(details));
    (key(), reading(started), who, more).prop_map(
        |(key, started, (ppid, user, uid, relation), (command, container, job, details))| Process {
            key,
            started,
            ppid,
            user,
            uid,
            relation,
            command,
            container,
            job: job.map(Arc::new),
            details: details.map(Arc::new),
        },
    )
}

fn memory() -> impl Strategy<Value = SampleBody> {
    let figures = (size(), size(), proptest::option::of(size()));
    let figures = figures.prop_map(|(total, free, reserved)| MemoryFigures { total, free, reserved });
    (gpu(), reading(figures)).prop_map(|(gpu, figures)| SampleBody::Memory { gpu, figures })
}

fn holders() -> impl Strategy<Value = SampleBody> {
    let kind = prop_oneof![Just("C"), Just("G"), Just("M"), Just("C+G"), Just("C+G+M")];
    let kind = kind.prop_map(|word| HolderKind::parse(word).unwrap());
    let instance = proptest::option::of(gpu());
    let holder = (any::<u32>(), reading(size()), kind, instance);
    let holder = holder.prop_map(|(pid, used, kind, instance)| Holder { pid: Pid(pid), used, kind, instance });
    let list = reading(proptest::collection::vec(holder, 0..5).prop_map(Arc::from));
    (gpu(), list).prop_map(|(gpu, list)| SampleBody::Holders { gpu, list })
}

fn usage() -> impl Strategy<Value = SampleBody> {
    let letter = || reading(proptest::char::range('A', 'Z'));
    let process = (any::<u32>(), reading(percent()), reading(percent()), reading(size()), letter(), reading(size()));
    let process = process.prop_map(|(pid, gpu, cpu, rss, state, accounted)| ProcessUsage {
        pid: Pid(pid),
        gpu,
        cpu,
        rss,
        state,
        accounted,
    });
    let figures = (reading(percent()), reading(percent()), reading(percent()));
    (gpu(), figures, proptest::collection::vec(process, 0..4)).prop_map(|(gpu, (utilization, temperature, power), processes)| {
        SampleBody::Usage(Arc::new(Usage { gpu, utilization, temperature, power, processes }))
    })
}

fn health() -> impl Strategy<Value = SampleBody> {
    let span = || micros().prop_map(Period);
    let kind = prop_oneof![Just(ProbeKind::Memory), Just(ProbeKind::Processes), Just(ProbeKind::Host)];
    let pace = (gpu(), kind, (span(), proptest::option::of(span()), span(), span()), any::<u32>(), any::<bool>());
    let pace = pace.prop_map(|(gpu, kind, (asked, achieved, call, worst), missed, backed_off)| Health::Pace {
        gpu,
        kind,
        asked,
        achieved,
        call,
        worst,
        missed,
        backed_off,
    });
    let problem = (proptest::option::of(gpu()), word(), word(), word());
    prop_oneof![
        pace,
        any::<u32>().prop_map(|count| Health::Dropped { count: count.into() }),
        (word(), word()).prop_map(|(thread, message)| Health::Panicked { thread, message }),
        problem.prop_map(|(gpu, what, why, fix)| Health::Problem { gpu, what, why, fix }),
    ]
    .prop_map(SampleBody::Health)
}

fn event() -> impl Strategy<Value = SampleBody> {
    let state =
        prop_oneof![Just(DeviceState::Ok), Just(DeviceState::Stalled), Just(DeviceState::Lost), Just(DeviceState::Failed)];
    let call = prop_oneof![Just(None), Just(Some("nvmlInit_v2")), Just(Some("nvmlDeviceGetMemoryInfo_v2"))];
    let at = || micros().prop_map(Timestamp);
    let host = (size(), size(), size(), size());
    let open = (key(), proptest::collection::vec(gpu(), 0..3), reading(proptest::char::range('A', 'Z')));
    let open = open.prop_map(|(key, gpus, state)| OpenHandle { key, gpus: gpus.into(), state });
    let opens = reading(proptest::collection::vec(open, 0..3).prop_map(Arc::from));
    prop_oneof![
        (proptest::option::of(gpu()), state, call, at()).prop_map(|(gpu, state, call, since)| SampleBody::State {
            gpu,
            state,
            call,
            since
        }),
        (gpu(), word()).prop_map(|(gpu, reason)| SampleBody::Gap { gpu, from: Timestamp::ZERO, reason }),
        word().prop_map(SampleBody::Mark),
        (any::<u32>(), any::<Option<i32>>()).prop_map(|(pid, status)| SampleBody::Exit { pid: Pid(pid), status }),
        host.prop_map(|(total, available, swap_used, swap_total)| {
            SampleBody::Host(HostMemory { total, available, swap_used, swap_total })
        }),
        (opens, any::<u32>()).prop_map(|(list, denied)| SampleBody::Handles { list, denied }),
    ]
}

fn finding() -> impl Strategy<Value = Record> {
    let quantity = prop_oneof![
        size().prop_map(Quantity::Bytes),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Quantity::Rate),
        micros().prop_map(|span| Quantity::Span(Period(span))),
        (0.0..1.0_f64).prop_map(Quantity::Share),
        any::<u64>().prop_map(Quantity::Count),
        word().prop_map(Quantity::Text),
    ];
    let evidence = proptest::collection::btree_map("[a-z_]{1,9}", quantity, 0..5);
    let advice = (word(), any::<Option<(u64, u64)>>(), word());
    let advice = advice.prop_map(|(tip, saves, why)| vramscope::domain::Advice {
        tip: tip.to_string().into(),
        saves: saves.map(|(from, to)| (Bytes(from), Bytes(to))),
        why,
    });
    let kind = prop_oneof![Just(FindingKind::Rank0Pileup), Just(FindingKind::LeakStep), Just(FindingKind::ProbableOom)];
    let times = (micros(), proptest::option::of(micros()));
    (gpu(), kind, any::<Option<u32>>(), times, evidence, proptest::collection::vec(advice, 0..3)).prop_map(
        |(gpu, kind, pid, (from, to), evidence, advice)| {
            Record::Finding(Arc::new(Finding {
                t: Timestamp::ZERO,
                n: 1,
                gpu,
                kind,
                certainty: Certainty::Likely,
                pid: pid.map(Pid),
                from: Timestamp(from),
                to: to.map(Timestamp),
                evidence: evidence.into_iter().map(|(name, quantity)| (name.into(), quantity)).collect(),
                advice: advice.into(),
            }))
        },
    )
}

fn risk() -> impl Strategy<Value = Record> {
    let level = prop_oneof![Just(RiskLevel::Ok), Just(RiskLevel::Watch), Just(RiskLevel::High), Just(RiskLevel::Critical)];
    let span = || micros().prop_map(Period);
    let full = proptest::option::of((span(), span(), span()).prop_map(|(lo, mid, hi)| FullIn { lo, mid, hi }));
    let sizes = (proptest::option::of(size()), proptest::option::of(size()));
    (gpu(), level, full, any::<Option<u32>>(), sizes, word()).prop_map(
        |(gpu, level, full_in, job, (headroom, request), reason)| {
            let job = job.map(Pid);
            Record::Risk(Arc::new(Risk { t: Timestamp::ZERO, gpu, level, full_in, job, headroom, request, reason }))
        },
    )
}

fn note() -> impl Strategy<Value = Record> {
    let t = Timestamp::ZERO;
    let explanation = "[a-z ]{0,9}".prop_map(|word| serde_json::value::to_raw_value(&[Some(word), None]).unwrap());
    prop_oneof![
        (word(), any::<Option<u32>>(), any::<bool>()).prop_map(move |(what, pid, dry_run)| Record::Action {
            t,
            what,
            pid: pid.map(Pid),
            dry_run
        }),
        explanation.prop_map(move |explanation| Record::Oom { t, explanation }),
        (0..4_000_000_000_000_000_i64).prop_map(move |wall| Record::Clock { t, wall: Wall(wall) }),
        word().prop_map(move |reason| Record::End { t, reason }),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let facts = (reading(word()), reading(word()), proptest::option::of(word()), proptest::option::of(word()));
    (0..4_000_000_000_000_000_i64, word(), any::<(bool, bool)>(), facts).prop_map(
        |(created, source, (simulated, foreign_pids), (driver, cuda, host, me))| Header {
            created: Wall(created),
            source,
            simulated,
            host,
            driver,
            cuda,
            me,
            foreign_pids,
        },
    )
}

fn device(gpu: u32) -> impl Strategy<Value = Device> {
    let memory = prop_oneof![Just(MemoryKind::Dedicated), Just(MemoryKind::Unified), Just(MemoryKind::Numa)];
    (any::<Option<u32>>(), reading(word()), reading(word()), memory, reading(size()), proptest::option::of(word())).prop_map(
        move |(index, pci, name, memory, total, parent)| Device {
            gpu: Gpu(gpu),
            id: DeviceId(format!("GPU-{gpu}").into()),
            index,
            pci,
            name,
            memory,
            total,
            parent: parent.map(DeviceId),
        },
    )
}

/// A stream in the order of time: header, three devices, then anything.
fn stream() -> impl Strategy<Value = Vec<Record>> {
    let body = prop_oneof![
        3 => memory().boxed(),
        2 => holders().boxed(),
        1 => usage().boxed(),
        1 => process().prop_map(|process| SampleBody::Process(Arc::new(process))).boxed(),
        1 => health().boxed(),
        2 => event().boxed(),
    ];
    let record = prop_oneof![
        6 => body.prop_map(|body| Record::Sample(Sample { t: Timestamp::ZERO, body })).boxed(),
        1 => finding().boxed(),
        1 => risk().boxed(),
        1 => note().boxed(),
    ];
    let step = prop_oneof![Just(0), 0..3_000_000_u64, 0..1_u64 << 45];
    let rest = proptest::collection::vec((step, record), 0..30);
    (header().boxed(), (device(0).boxed(), device(1).boxed(), device(2).boxed()), rest.boxed()).prop_map(
        |(header, devices, rest)| {
            let first = |body| Record::Sample(Sample { t: Timestamp::ZERO, body });
            let mut records = vec![first(SampleBody::Header(Arc::new(header)))];
            records.extend([devices.0, devices.1, devices.2].map(|device| first(SampleBody::Device(Arc::new(device)))));
            let mut now = 0;
            for (step, mut record) in rest {
                now += step;
                set_time(&mut record, Timestamp(now));
                records.push(record);
            }
            records
        },
    )
}

fn set_time(record: &mut Record, at: Timestamp) {
    match record {
        Record::Sample(sample) => sample.t = at,
        Record::Partial(partial) => partial.t = at,
        Record::Finding(finding) => Arc::make_mut(finding).t = at,
        Record::Risk(risk) => Arc::make_mut(risk).t = at,
        Record::Action { t, .. } | Record::Oom { t, .. } | Record::Clock { t, .. } | Record::End { t, .. } => *t = at,
    }
}

fn debug(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| format!("{record:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_and_written_again(records in stream()) {
        let once = write(&records);
        let (read_back, problems) = read(once.clone());
        prop_assert!(problems.iter().all(|problem| !problem.lost), "{}", said(&problems));
        prop_assert_eq!(debug(&read_back), debug(&records));
        prop_assert_eq!(String::from_utf8(write(&read_back)).unwrap(), String::from_utf8(once).unwrap());
    }

    #[test]
    fn any_prefix_reads_to_a_prefix(records in stream(), share in 0.0..1.0_f64, packed in any::<bool>()) {
        let mut file = write(&records);
        if packed {
            file = zstd::encode_all(&*file, 1).unwrap();
        }
        file.truncate((file.len() as f64 * share) as usize);
        let Ok(mut reader) = open(file) else { return Ok(()) };
        let part = debug(&reader.by_ref().collect::<Vec<_>>());
        prop_assert_eq!(&part[..], &debug(&records)[..part.len()]);
    }

    #[test]
    fn no_bytes_make_it_panic(records in stream(), wounds in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        packed in any::<bool>()) {
        let mut file = write(&records);
        if packed {
            file = zstd::encode_all(&*file, 1).unwrap();
        }
        for (at, byte) in wounds {
            *at.get_mut(&mut file) = byte;
        }
        if let Ok(mut reader) = open(file) {
            let mut last = Timestamp::ZERO;
            for record in reader.by_ref() {
                prop_assert!(record.t() + Period::secs(1) >= last, "time goes back");
                last = last.max(record.t());
            }
            drop(reader.problems().list());
        }
    }

    #[test]
    fn no_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (records, _) = read([CONTRACT.as_bytes(), &line, b"\n"].concat());
        prop_assert!(records.len() >= CONTRACT.lines().count());
    }
}
