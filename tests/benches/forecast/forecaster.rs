//! Who forecasts: the analyst, and the three rules that other tools use.

use std::collections::{BTreeMap, VecDeque};

use vramscope::domain::{Analyst, Gpu, MemoryFigures, Period, Pid, Said, Sample, SampleBody, Shape};

/// What is said of a card at a moment; times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook {
    pub alarm: bool,
    /// lo, mid and hi; a baseline has no interval.
    pub full_in: Option<(f64, f64, f64)>,
}

/// Reads a stream, and says at any moment what it thinks.
pub trait Forecaster {
    fn observe(&mut self, sample: &Sample);
    fn outlook(&self, gpu: Gpu) -> Outlook;
    /// The word for a card's series; none from who has no words.
    fn shape(&self, _: Gpu) -> Option<Shape> {
        None
    }
    /// The word for a process.
    fn holder_shape(&self, _: Gpu, _: Pid) -> Option<Shape> {
        None
    }
}

/// The product's analyst, by what it says: that is what the screen, the file and the report show.
#[derive(Default)]
pub struct Ours {
    analyst: Analyst,
    said: Vec<Said>,
    risks: BTreeMap<Gpu, Outlook>,
}

impl Forecaster for Ours {
    fn observe(&mut self, sample: &Sample) {
        self.analyst.observe(sample, &mut self.said);
        for said in self.said.drain(..) {
            if let Said::Risk(risk) = said
                && risk.job.is_none()
            {
                let full_in = risk.full_in.map(|span| [span.lo, span.mid, span.hi].map(Period::as_secs_f64).into());
                self.risks.insert(risk.gpu, Outlook { alarm: risk.level.is_alarm(), full_in });
            }
        }
    }

    fn outlook(&self, gpu: Gpu) -> Outlook {
        self.risks.get(&gpu).copied().unwrap_or_default()
    }

    fn shape(&self, gpu: Gpu) -> Option<Shape> {
        Some(self.analyst.shape(gpu))
    }

    fn holder_shape(&self, gpu: Gpu, pid: Pid) -> Option<Shape> {
        Some(self.analyst.holder_shape(gpu, pid))
    }
}

/// A reading of a card in MiB.
#[derive(Clone, Copy, Debug)]
struct Point {
    t: f64,
    used: f64,
    total: f64,
}

/// Turns samples into readings; unified memory by what the host has, as a fair user of these rules would.
#[derive(Default)]
struct Readings {
    host: Option<(f64, f64)>,
}

impl Readings {
    fn point(&mut self, sample: &Sample) -> Option<(Gpu, Point)> {
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        match &sample.body {
            SampleBody::Host(host) => {
                self.host = Some((mib(host.total.0), mib(host.available.0)));
                None
            }
            SampleBody::Memory { gpu, figures } => {
                let (used, total) = match (figures, self.host) {
                    (Ok(MemoryFigures { total, free, reserved }), _) => {
                        let total = total.0 - reserved.unwrap_or_default().0;
                        (mib(total.saturating_sub(free.0)), mib(total))
                    }
                    (Err(_), Some((total, available))) => (total - available, total),
                    (Err(_), None) => return None,
                };
                Some((*gpu, Point { t: sample.t.as_secs_f64(), used, total }))
            }
            _ => None,
        }
    }
}

/// Above 90 %.
#[derive(Default)]
pub struct Threshold {
    readings: Readings,
    above: BTreeMap<Gpu, bool>,
}

impl Forecaster for Threshold {
    fn observe(&mut self, sample: &Sample) {
        if let Some((gpu, point)) = self.readings.point(sample) {
            self.above.insert(gpu, point.used > 0.9 * point.total);
        }
    }

    fn outlook(&self, gpu: Gpu) -> Outlook {
        Outlook { alarm: self.above.get(&gpu) == Some(&true), full_in: None }
    }
}

/// The last readings of a card, and what was made of them.
#[derive(Default)]
struct Window {
    points: VecDeque<Point>,
    outlook: Outlook,
}

/// A straight line through the last 60 s (`predict_linear`): an alarm where it is full within 5 min.
#[derive(Default)]
pub struct Line {
    readings: Readings,
    windows: BTreeMap<Gpu, Window>,
}

impl Forecaster for Line {
    fn observe(&mut self, sample: &Sample) {
        let Some((gpu, point)) = self.readings.point(sample) else { return };
        let Window { points, outlook } = self.windows.entry(gpu).or_default();
        // Once a second, as a scrape would have it.
        if points.back().is_some_and(|last| point.t - last.t < 0.95) {
            return;
        }
        points.push_back(point);
        while points.front().is_some_and(|first| point.t - first.t > 60.0) {
            points.pop_front();
        }
        let n = points.len() as f64;
        let (mean_t, mean) = points.iter().fold((0.0, 0.0), |(t, u), p| (t + p.t / n, u + p.used / n));
        let (over, under) =
            points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.t - mean_t) * (p.used - mean), b + (p.t - mean_t).powi(2)));
        let slope = if under > 0.0 { over / under } else { 0.0 };
        let now = mean + slope * (point.t - mean_t);
        let full = (slope > 1e-9 && points.len() >= 5).then(|| ((point.total - now) / slope).max(0.0));
        *outlook = Outlook {
            alarm: full.is_some_and(|seconds| seconds < 300.0),
            full_in: full.filter(|seconds| *seconds < 86_400.0).map(|mid| (mid, mid, mid)),
        };
    }

    fn outlook(&self, gpu: Gpu) -> Outlook {
        self.windows.get(&gpu).map(|window| window.outlook).unwrap_or_default()
    }
}

/// Five samples that never fall and grow by more than 1 % of the card in all, or above 85 %. The time is that of their mean rate.
#[derive(Default)]
pub struct FiveSamples {
    readings: Readings,
    windows: BTreeMap<Gpu, Window>,
}

impl Forecaster for FiveSamples {
    fn observe(&mut self, sample: &Sample) {
        let Some((gpu, point)) = self.readings.point(sample) else { return };
        let Window { points, outlook } = self.windows.entry(gpu).or_default();
        if points.back().is_some_and(|last| point.t - last.t < 0.95) {
            return;
        }
        points.push_back(point);
        while points.len() > 5 {
            points.pop_front();
        }
        let (first, last) = (points[0], point);
        let rises = points.iter().zip(points.iter().skip(1)).all(|(a, b)| b.used >= a.used);
        let grows = points.len() == 5 && rises && last.used - first.used > 0.01 * point.total;
        let rate = (last.used - first.used) / (last.t - first.t).max(0.1);
        let mid = (points.len() == 5 && rate > 1e-9).then(|| (point.total - point.used) / rate);
        *outlook = Outlook {
            alarm: grows || point.used > 0.85 * point.total,
            full_in: mid.filter(|seconds| *seconds < 86_400.0).map(|mid| (mid, mid, mid)),
        };
    }

    fn outlook(&self, gpu: Gpu) -> Outlook {
        self.windows.get(&gpu).map(|window| window.outlook).unwrap_or_default()
    }
}
