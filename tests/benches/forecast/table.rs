//! The figures of a set: each beside its limit and beside the baselines.

use std::collections::BTreeMap;

use crate::examine::{ASKED, Verdict};

/// A forecaster's verdicts on the whole set.
#[derive(Default)]
pub struct Figures {
    announced: usize,
    recalled: usize,
    useful: usize,
    leads: Vec<f64>,
    hours: f64,
    false_alarms: usize,
    frightening: usize,
    frightening_hours: f64,
    frightening_alarms: usize,
    hit: usize,
    errors: [Vec<f64>; 3],
    asked: [usize; 3],
    covered: [usize; 3],
    shapes: [usize; 3],
    holder_shapes: [usize; 3],
}

/// Smaller than, larger than, or between: what a figure has to be.
#[derive(Clone, Copy)]
enum Limit {
    Most(f64),
    Least(f64),
    Within(f64, f64),
}

impl Limit {
    fn holds(self, figure: f64) -> bool {
        match self {
            Self::Most(most) => figure <= most,
            Self::Least(least) => figure >= least,
            Self::Within(least, most) => (least..=most).contains(&figure),
        }
    }

    fn words(self) -> String {
        match self {
            Self::Most(most) => format!("<= {most:.3}"),
            Self::Least(least) => format!(">= {least:.3}"),
            Self::Within(least, most) => format!("{least:.2} to {most:.2}"),
        }
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Counts a word: all, the best one, one that fits.
fn word<T: PartialEq>(counts: &mut [usize; 3], judged: Option<&(T, &'static [T])>) {
    if let Some((said, fit)) = judged {
        counts[0] += 1;
        counts[1] += usize::from(fit.first() == Some(said));
        counts[2] += usize::from(fit.contains(said));
    }
}

impl Figures {
    pub fn add(&mut self, verdict: &Verdict) {
        if let Some((lead, useful)) = verdict.announced {
            self.announced += 1;
            self.recalled += usize::from(lead.is_some());
            self.useful += usize::from(useful);
            self.leads.extend(lead);
        }
        let (hours, alarms) = (verdict.seconds / 3_600.0, verdict.false_alarms.len());
        self.hours += hours;
        self.false_alarms += alarms;
        if verdict.frightening {
            self.frightening += 1;
            self.frightening_hours += hours;
            self.frightening_alarms += alarms;
            self.hit += usize::from(alarms > 0);
        }
        for asked in &verdict.asked {
            self.asked[asked.part] += 1;
            self.errors[asked.part].extend(asked.error);
            self.covered[asked.part] += usize::from(asked.covered);
        }
        word(&mut self.shapes, verdict.shape.as_ref());
        word(&mut self.holder_shapes, verdict.holder_shape.as_ref());
    }

    fn error(&self, part: usize) -> Option<f64> {
        median(self.errors[part].iter().map(|error| error.abs()).collect())
    }

    /// Of the times that were said.
    fn coverage(&self) -> Option<f64> {
        share(self.covered.iter().sum(), self.errors.iter().map(Vec::len).sum())
    }

    /// Name, figure, limit.
    fn rows(&self) -> Vec<(String, Option<f64>, Option<Limit>)> {
        let mut rows = vec![
            ("recall of OOMs announced by growth".to_owned(), share(self.recalled, self.announced), Some(Limit::Least(0.95))),
            ("  useful: >= 5 s and >= 10 % of growth".to_owned(), share(self.useful, self.announced), Some(Limit::Least(0.9))),
            ("  median lead, s".to_owned(), median(self.leads.clone()), None),
            ("false alarms per GPU-hour".to_owned(), Some(self.false_alarms as f64 / self.hours), Some(Limit::Most(1.0))),
            ("  among frightening, per GPU-hour".to_owned(), Some(self.frightening_alarms as f64 / self.frightening_hours), None),
            ("  share of frightening cases hit".to_owned(), share(self.hit, self.frightening), Some(Limit::Most(1.0 / 24.0))),
        ];
        for (part, at) in ASKED.iter().enumerate() {
            let limit = (part == 1).then_some(Limit::Most(0.1));
            rows.push((format!("time error at {:.0} % of growth, median", at * 100.0), self.error(part), limit));
            rows.push(("  signed: above 0 is too late".to_owned(), median(self.errors[part].clone()), None));
            rows.push((
                "  no time said, share".to_owned(),
                share(self.asked[part] - self.errors[part].len(), self.asked[part]),
                None,
            ));
        }
        rows.push(("lo to hi holds the truth".to_owned(), self.coverage(), Some(Limit::Within(0.75, 0.9))));
        for (part, at) in ASKED.iter().enumerate() {
            let figure = share(self.covered[part], self.errors[part].len());
            rows.push((format!("  at {:.0} %", at * 100.0), figure, None));
        }
        rows.push((
            "shape of the card: a word that fits".to_owned(),
            share(self.shapes[2], self.shapes[0]),
            Some(Limit::Least(0.85)),
        ));
        rows.push(("  the best word".to_owned(), share(self.shapes[1], self.shapes[0]), None));
        rows.push((
            "shape of the process: a word that fits".to_owned(),
            share(self.holder_shapes[2], self.holder_shapes[0]),
            None,
        ));
        rows.push(("  the best word".to_owned(), share(self.holder_shapes[1], self.holder_shapes[0]), None));
        rows
    }
}

/// The table: the first column is the one that has to hold the limits.
pub fn print(columns: &[(&str, Figures)]) {
    let (_, ours) = &columns[0];
    println!(
        "{} OOMs announced by growth, {:.1} GPU-hours, {} frightening cases in {:.1} h\n",
        ours.announced, ours.hours, ours.frightening, ours.frightening_hours
    );
    print!("{:<42}", "");
    for (name, _) in columns {
        print!(" {name:>12}");
    }
    println!("   limit");
    let rows: Vec<_> = columns.iter().map(|(_, figures)| figures.rows()).collect();
    for (n, (name, figure, limit)) in rows[0].iter().enumerate() {
        print!("{name:<42}");
        for rows in &rows {
            match rows[n].1 {
                Some(figure) => print!(" {figure:>12.3}"),
                None => print!(" {:>12}", "-"),
            }
        }
        match (limit, figure) {
            (Some(limit), Some(figure)) => {
                println!("   {:<14} {}", limit.words(), if limit.holds(*figure) { "ok" } else { "MISSED" });
            }
            (Some(limit), None) => println!("   {:<14} MISSED", limit.words()),
            (None, _) => println!(),
        }
    }
}

/// Where the first forecaster failed, kind by kind: times at 75 % of the growth, and how often lo to hi held the truth.
pub fn print_kinds(kinds: &BTreeMap<&str, Vec<&Verdict>>) {
    println!(
        "\n{:<36} {:>5} {:>6} {:>7} {:>7} {:>6} {:>8} {:>8} {:>7} {:>7} {:>6}",
        "kind", "cards", "OOMs", "missed", "useless", "false", "error 75", "signed", "no time", "held", "shape"
    );
    for (kind, verdicts) in kinds {
        let announced: Vec<_> = verdicts.iter().filter_map(|verdict| verdict.announced).collect();
        let missed = announced.iter().filter(|(lead, _)| lead.is_none()).count();
        let useless = announced.iter().filter(|(lead, useful)| lead.is_some() && !useful).count();
        let alarms: usize = verdicts.iter().map(|verdict| verdict.false_alarms.len()).sum();
        let asked: Vec<_> = verdicts.iter().flat_map(|verdict| &verdict.asked).filter(|asked| asked.part == 1).collect();
        let errors: Vec<f64> = asked.iter().filter_map(|asked| asked.error).collect();
        let absent = asked.len() - errors.len();
        let told: Vec<_> = verdicts.iter().flat_map(|verdict| &verdict.asked).filter(|asked| asked.error.is_some()).collect();
        let held = share(told.iter().filter(|asked| asked.covered).count(), told.len());
        let wrong =
            verdicts.iter().filter(|verdict| verdict.shape.as_ref().is_some_and(|(said, fit)| !fit.contains(said))).count();
        let count = |n: usize| if n == 0 { "·".to_owned() } else { n.to_string() };
        let figure = |value: Option<f64>| value.map_or("·".to_owned(), |value| format!("{value:.2}"));
        println!(
            "{kind:<36} {:>5} {:>6} {:>7} {:>7} {:>6} {:>8} {:>8} {:>7} {:>7} {:>6}",
            verdicts.len(),
            count(announced.len()),
            count(missed),
            count(useless),
            count(alarms),
            figure(median(errors.iter().map(|error| error.abs()).collect())),
            figure(median(errors)),
            count(absent),
            figure(held),
            count(wrong),
        );
    }
}
