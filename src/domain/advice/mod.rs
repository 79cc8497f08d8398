//! Tips applied to findings: the evidence, and the bytes a tip should save by what was measured. No evidence, no advice.

mod case;
mod evidence;
mod facts;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

pub use case::{Case, Proposal, Swing, range, share};
pub use evidence::{GROWN, HIGH, LEFT, LOW, Leak, RISE, pile, pool_in_the_way, states};
pub use facts::{Facts, Party};

use super::tips::{TIPS, Tip};
use super::{Advice, Finding};

/// No finding gets more pieces of advice than this: who has read five does not read a sixth.
pub const MOST: usize = 5;

/// What to do about a finding, most bytes per effort first; nothing where nothing known calls for a tip.
///
/// Where the bytes can't be told, a tip comes after those that name theirs, in the order of the catalogue.
pub fn advise(finding: &Finding, facts: &Facts) -> Arc<[Advice]> {
    let case = Case { finding, facts };
    let mut proposed: Vec<(&Tip, Proposal)> = TIPS.iter().filter_map(|tip| Some((tip, (tip.applies?)(&case)?))).collect();
    proposed.sort_by_key(|(tip, proposal)| Reverse(proposal.middle().map(|bytes| bytes / tip.effort.weight())));
    proposed
        .into_iter()
        .take(MOST)
        .map(|(tip, Proposal { saves, why })| Advice { tip: Cow::Borrowed(tip.id), saves, why: why.into() })
        .collect()
}
