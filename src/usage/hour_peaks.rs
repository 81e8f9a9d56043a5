//! The largest mean of each hour: which peaks come at the same time.

use super::Timeline;
use super::timeline::MEASURED_SHARE_OF_AN_HOUR;
use crate::domain::HOUR_SECONDS;

impl Timeline {
    /// Of each whole hour of the window, from its start, the largest mean over the GPUs,
    /// percent: 0 where nothing ran, absent where more than a tenth of the periods that ran
    /// has no figure.
    pub fn hour_peaks(&self) -> Vec<Option<f64>> {
        let per_hour = (HOUR_SECONDS as usize / self.period_seconds.max(1) as usize).max(1);
        let mut means: Vec<Option<f64>> = vec![None; self.slots.len()];
        for (index, mean) in self.means() {
            means[index] = Some(mean);
        }
        let ran: Vec<bool> = self.ran().collect();
        let hours = means.chunks(per_hour).zip(ran.chunks(per_hour));
        hours.map(|(means, ran)| peak_of_hour(means, ran)).collect()
    }
}

fn peak_of_hour(means: &[Option<f64>], ran: &[bool]) -> Option<f64> {
    let expected = ran.iter().filter(|ran| **ran).count();
    let known = means.iter().zip(ran).filter(|(mean, ran)| **ran && mean.is_some());
    let is_known = known.count() as f64 >= expected as f64 * MEASURED_SHARE_OF_AN_HOUR;
    let largest = means.iter().flatten().copied().reduce(f64::max);
    is_known.then(|| largest.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::peak_of_hour;

    #[test]
    fn an_hour_peaks_with_its_largest_mean() {
        let ran = [true; 4];
        assert_eq!(peak_of_hour(&[Some(5.0), Some(40.0), Some(7.5), Some(0.0)], &ran), Some(40.0));
        // A quarter of it is not known.
        assert_eq!(peak_of_hour(&[Some(5.0), Some(40.0), None, Some(0.0)], &ran), None);
        // It ran for half of the hour, and all of that is known.
        let half = [true, true, false, false];
        assert_eq!(peak_of_hour(&[Some(5.0), Some(9.0), None, None], &half), Some(9.0));
        assert_eq!(peak_of_hour(&[None; 4], &[false; 4]), Some(0.0));
        // Eleven of twelve periods are 91.7%.
        let mut means = [Some(3.0); 12];
        means[4] = None;
        assert_eq!(peak_of_hour(&means, &[true; 12]), Some(3.0));
        means[5] = None;
        assert_eq!(peak_of_hour(&means, &[true; 12]), None);
    }
}
