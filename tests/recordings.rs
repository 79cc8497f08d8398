//! What the analyst says of real recordings: nothing alarming where nothing was wrong, and a warning before a full card.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what was said of each recording is told, and the environment names their folder"
)]

use std::fs;
use std::path::{Path, PathBuf};

use vramscope::domain::{Analyst, RiskLevel, Said, Sample, SampleBody};

use crate::support::recording::samples;

/// What has to be said of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// A plateau, a pool, a stationary sawtooth, or a few readings: no alarm.
    Calm,
    /// At least this level before the last row.
    Warned(RiskLevel),
    /// It ends in a ramp that may or may not go on: anything goes.
    Open,
}

/// A recording, how many usable readings it holds, the total in MiB where it does not tell it, and what is expected.
type Recorded = (&'static str, usize, Option<u64>, Expect);

/// Those of the collection (`VRAMSCOPE_CASES`).
const REAL: &[Recorded] = &[
    ("a5000x4_load_screens.txt", 48, None, Expect::Open),
    ("custom_vram_mb.csv", 56, Some(8_192), Expect::Calm),
    ("gpustat_tf_prealloc_95pct.txt", 39, None, Expect::Calm),
    ("h100_two_loads_truncated_8192.csv", 104, None, Expect::Calm),
    ("nvsmi_h100mig_load.screen.txt", 1, None, Expect::Calm),
    ("nvsmi_win2080s_load.screen.txt", 1, None, Expect::Calm),
    ("paddle_realloc_used_only.csv", 46, Some(16_384), Expect::Calm),
    ("rtx2080ti_powershell_utf16.csv", 434, None, Expect::Calm),
    ("rtx3060_inference_screens.txt", 160, None, Expect::Calm),
    ("rtx4090_vlm_eval_1s.csv", 2_619, Some(24_564), Expect::Calm),
    ("rtx4090x2_many_contexts_screen.txt", 2, None, Expect::Calm),
    ("rtx_vllm_plateau_10hz.csv", 317, Some(24_564), Expect::Calm),
    ("rtxpro6000_ramp_to_full.csv", 9, None, Expect::Warned(RiskLevel::Watch)),
    ("rtxpro6000_video_sawtooth.csv", 152, None, Expect::Calm),
    ("six_gpu_mixed_screen.txt", 6, None, Expect::Calm),
    ("slurm_l40s_screens.txt", 150, None, Expect::Calm),
    ("used_only_nounits.csv", 682, Some(24_564), Expect::Calm),
];

/// Written for this project in the same forms.
const OWN: &[Recorded] = &[
    ("ramp-in-leaps.csv", 9, None, Expect::Warned(RiskLevel::Watch)),
    ("pool-utf16.csv", 60, None, Expect::Calm),
    ("sawtooth-to-94.csv", 160, None, Expect::Calm),
    ("swing-bare.csv", 200, Some(24_564), Expect::Calm),
    ("prealloc.gpustat.txt", 30, None, Expect::Calm),
    ("two-cards.screens.txt", 24, None, Expect::Calm),
];

/// A level, and since when; the last row's time comes with them.
struct Heard {
    levels: Vec<(f64, RiskLevel, String)>,
    findings: Vec<String>,
    readings: usize,
    last: f64,
}

fn hear(samples: &[Sample]) -> Heard {
    let (mut analyst, mut said) = (Analyst::new(), Vec::new());
    let mut heard = Heard { levels: Vec::new(), findings: Vec::new(), readings: 0, last: 0.0 };
    for sample in samples {
        analyst.observe(sample, &mut said);
        if matches!(sample.body, SampleBody::Memory { figures: Ok(_), .. }) {
            heard.readings += 1;
            heard.last = sample.t.as_secs_f64();
        }
        for said in said.drain(..) {
            match said {
                Said::Risk(risk) => {
                    if heard.levels.last().is_none_or(|(_, level, _)| *level != risk.level) {
                        heard.levels.push((risk.t.as_secs_f64(), risk.level, format!("gpu {}: {}", risk.gpu, risk.reason)));
                    }
                }
                Said::Finding(finding) => {
                    heard.findings.push(format!("{} at {:.0} s", finding.kind, finding.from.as_secs_f64()));
                }
            }
        }
    }
    heard
}

/// Reads a recording and holds what was said against what is expected; says it on the way.
fn check(folder: &Path, (name, count, total, expect): Recorded) -> Result<(), String> {
    let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    let samples = samples(&bytes, total).map_err(|why| format!("{name}: {why}"))?;
    let Heard { levels, findings, readings, last } = hear(&samples);
    let mut words: Vec<String> = levels
        .iter()
        .filter(|(_, level, _)| *level > RiskLevel::Ok)
        .map(|(t, level, reason)| format!("{level} at {t:.1} s ({reason})"))
        .collect();
    let mut kinds: Vec<&String> = findings.iter().collect();
    kinds.dedup();
    words.extend(kinds.iter().take(6).map(ToString::to_string));
    if kinds.len() > 6 {
        words.push(format!("{} findings more", kinds.len() - 6));
    }
    let words = if words.is_empty() { "nothing".to_owned() } else { words.join("; ") };
    println!("{name} ({readings} readings, {last:.0} s): {words}");
    if readings != count {
        return Err(format!("{name}: {count} readings expected, read: {readings}"));
    }
    let fits = match expect {
        Expect::Calm => levels.iter().all(|(_, level, _)| !level.is_alarm()),
        Expect::Warned(least) => levels.iter().any(|(t, level, _)| *level >= least && *t < last),
        Expect::Open => true,
    };
    if fits { Ok(()) } else { Err(format!("{name}: {expect:?} expected, said: {words}")) }
}

fn check_all(folder: &Path, recordings: &[Recorded]) {
    let wrong: Vec<String> = recordings.iter().filter_map(|recorded| check(folder, *recorded).err()).collect();
    println!("recordings: {} of {} in {} as expected", recordings.len() - wrong.len(), recordings.len(), folder.display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn own_recordings_are_judged_calmly() {
    check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings"), OWN);
}

#[test]
fn real_recordings_are_judged_calmly() {
    let cases = std::env::var_os("VRAMSCOPE_CASES").map_or_else(|| PathBuf::from("../shared/cases"), PathBuf::from);
    let folder = cases.join("timelines");
    if folder.is_dir() {
        check_all(&folder, REAL);
    } else {
        println!("recordings: 0, skipped: no folder {}", folder.display());
    }
}
