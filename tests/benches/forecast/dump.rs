//! Cases as timeline files (DESIGN.md section 5), for looking at them in the product or anywhere else.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use vramscope::domain::{Bytes, Missing, Process, Sample, SampleBody, Wall};

use crate::timelines::Case;

fn wall(wall: Wall) -> Value {
    jiff::Timestamp::from_microsecond(wall.0).map_or(Value::Null, |time| json!(time.to_string()))
}

fn value<T>(reading: &Result<T, Missing>, write: impl Fn(&T) -> Value) -> Value {
    reading.as_ref().map_or(Value::Null, write)
}

fn size(reading: &Result<Bytes, Missing>) -> Value {
    value(reading, |bytes| json!(bytes.0))
}

fn process(process: &Process) -> Value {
    json!({
        "type": "process",
        "pid": process.key.pid.0,
        "start": process.key.start,
        "started": value(&process.started, |started| wall(*started)),
        "ppid": value(&process.ppid, |pid| json!(pid.0)),
        "user": value(&process.user, |user| json!(**user)),
        "uid": value(&process.uid, |uid| json!(uid)),
        "relation": process.relation.to_string(),
        "command": value(&process.command, |command| json!(**command)),
        "container": process.container.as_deref(),
    })
}

/// A record without its time; none for what such a file does not hold.
fn record(body: &SampleBody) -> Option<Value> {
    Some(match body {
        SampleBody::Header(header) => json!({
            "type": "header",
            "format": "vramscope-timeline",
            "version": 1,
            "created": wall(header.created),
            "source": *header.source,
            "simulated": header.simulated,
            "host": header.host.as_deref(),
            "driver": value(&header.driver, |driver| json!(**driver)),
            "cuda": value(&header.cuda, |cuda| json!(**cuda)),
            "me": header.me.as_deref(),
        }),
        SampleBody::Device(device) => json!({
            "type": "device",
            "gpu": device.gpu.0,
            "uuid": *device.id.0,
            "index": device.index,
            "pci": value(&device.pci, |pci| json!(**pci)),
            "name": value(&device.name, |name| json!(**name)),
            "memory": device.memory.to_string(),
            "total": size(&device.total),
            "parent": device.parent.as_ref().map(|parent| &*parent.0),
        }),
        SampleBody::Process(facts) => process(facts),
        SampleBody::Memory { gpu, figures } => json!({
            "type": "memory",
            "gpu": gpu.0,
            "used": value(figures, |figures| json!(figures.used().0)),
            "free": value(figures, |figures| json!(figures.free.0)),
            "reserved": figures.as_ref().ok().and_then(|figures| figures.reserved).map(|reserved| reserved.0),
        }),
        SampleBody::Holders { gpu, list } => json!({
            "type": "holders",
            "gpu": gpu.0,
            "holders": value(list, |list| {
                let holders = list.iter().map(|holder| {
                    json!({
                        "pid": holder.pid.0,
                        "used": size(&holder.used),
                        "kind": holder.kind.to_string(),
                        "instance": holder.instance.map(|instance| instance.0),
                    })
                });
                holders.collect()
            }),
        }),
        SampleBody::Usage(usage) => json!({
            "type": "usage",
            "gpu": usage.gpu.0,
            "utilization": value(&usage.utilization, |figure| json!(figure)),
            "temperature": value(&usage.temperature, |figure| json!(figure)),
            "power": value(&usage.power, |figure| json!(figure)),
            "processes": usage.processes.iter().map(|process| json!({
                "pid": process.pid.0,
                "gpu": value(&process.gpu, |figure| json!(figure)),
                "cpu": value(&process.cpu, |figure| json!(figure)),
                "rss": size(&process.rss),
                "state": value(&process.state, |state| json!(state)),
            })).collect::<Vec<_>>(),
        }),
        SampleBody::Host(host) => json!({
            "type": "host",
            "total": host.total.0,
            "available": host.available.0,
            "swap_used": host.swap_used.0,
        }),
        SampleBody::Gap { gpu, from, reason } => {
            json!({ "type": "gap", "gpu": gpu.0, "from": from.as_secs_f64(), "reason": **reason })
        }
        SampleBody::Exit { pid, status } => json!({ "type": "exit", "pid": pid.0, "status": status }),
        _ => return None,
    })
}

/// Writes a case, with marks where something is true of it.
pub fn dump(folder: &Path, number: u64, case: &Case) -> std::io::Result<()> {
    let mut marks: Vec<(f64, String)> = Vec::new();
    for truth in &case.truths {
        if let Some((from, _)) = truth.growth {
            marks.push((from, format!("gpu {}: growth begins", truth.gpu)));
        }
        if let Some(oom) = truth.oom {
            marks.push((oom, format!("gpu {}: OOM", truth.gpu)));
        }
    }
    marks.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut text = String::new();
    let mut line = |t: f64, mut record: Value| {
        if let Some(fields) = record.as_object_mut().filter(|fields| fields.get("type") != Some(&json!("header"))) {
            fields.insert("t".to_owned(), json!(t));
        }
        writeln!(text, "{record}").map_err(std::io::Error::other)
    };
    for Sample { t, body } in &case.samples {
        let t = t.as_secs_f64();
        while let Some((at, words)) = marks.pop_if(|(at, _)| *at <= t) {
            line(at, json!({ "type": "mark", "text": words }))?;
        }
        if let Some(record) = record(body) {
            line(t, record)?;
        }
    }
    let name: String = case.kind.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{number:04}-{name}.jsonl")), text)
}
