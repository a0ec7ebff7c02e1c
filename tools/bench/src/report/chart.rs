//! One plot over time as SVG: lines over the seconds of a run, with axes that end at round numbers.

use std::fmt::Write as _;
use std::ops::Range;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
/// Edges of the plot within the picture.
pub const LEFT: f64 = 56.0;
pub const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = HEIGHT - 22.0;
const TICKS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A linear axis from zero.
    Linear,
    /// A logarithmic axis; values of zero and below are left out.
    Logarithmic,
}

pub struct Line {
    /// Path of the value in a second of the run's JSON, with dots.
    pub name: &'static str,
    pub label: &'static str,
    /// Values, one for each second; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

pub struct Chart<'a> {
    pub title: &'static str,
    pub unit: &'static str,
    pub scale: Scale,
    /// Seconds of the values, ascending, as many as each line has.
    pub seconds: &'a [u32],
    /// The measured part, shaded.
    pub measured: Option<Range<f64>>,
    pub lines: Vec<Line>,
}

impl Chart<'_> {
    /// Whether there is anything to plot.
    pub fn has_values(&self) -> bool {
        self.lines.iter().any(|line| line.values.iter().any(Option::is_some))
    }

    /// The whole picture.
    pub fn svg(&self) -> String {
        let (low, high) = self.bounds();
        let mut svg = format!(r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#, self.title);
        if let Some(measured) = &self.measured {
            let (from, to) = (self.x(measured.start), self.x(measured.end));
            let (width, height) = (to - from, BOTTOM - TOP);
            let _ =
                write!(svg, r#"<rect class="measured" x="{from:.1}" y="{TOP}" width="{width:.1}" height="{height}"/>"#);
        }
        self.write_axes(&mut svg, low, high);
        for (index, line) in self.lines.iter().enumerate() {
            let path = self.path(line, low, high);
            let _ = write!(svg, r#"<path class="line-{index}" d="{path}"/>"#);
        }
        let _ = write!(svg, r#"<line class="cursor" x1="0" x2="0" y1="{TOP}" y2="{BOTTOM}"/></svg>"#);
        svg
    }

    fn write_axes(&self, svg: &mut String, low: f64, high: f64) {
        for value in self.ticks(low, high) {
            let y = self.y(value, low, high);
            let (label, label_y) = (figure(value), y + 4.0);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/><text x="{}" y="{label_y:.1}" text-anchor="end">{label}</text>"#,
                LEFT - 6.0,
            );
        }
        let (first, last) = self.span();
        let step = round_up((last - first) / TICKS as f64);
        let mut second = (first / step).ceil() * step;
        while second <= last {
            let (x, label) = (self.x(second), figure(second));
            let _ = write!(svg, r#"<text x="{x:.1}" y="{}" text-anchor="middle">{label} s</text>"#, HEIGHT - 6.0);
            second += step;
        }
    }

    fn path(&self, line: &Line, low: f64, high: f64) -> String {
        let mut path = String::new();
        let mut pen_down = false;
        for (second, value) in self.seconds.iter().zip(&line.values) {
            let value = value.filter(|value| self.scale == Scale::Linear || *value > 0.0);
            if let Some(value) = value {
                let command = if pen_down { 'L' } else { 'M' };
                let (x, y) = (self.x(f64::from(*second)), self.y(value, low, high));
                // A lone second is drawn as a dot: a line of no length with round ends would not show everywhere.
                let dot = if pen_down { "" } else { "h0.1" };
                let _ = write!(path, "{command}{x:.1} {y:.1}{dot}");
            }
            pen_down = value.is_some();
        }
        path
    }

    fn span(&self) -> (f64, f64) {
        let first = self.seconds.first().copied().map_or(0.0, f64::from);
        let last = self.seconds.last().copied().map_or(1.0, f64::from);
        (first, last.max(first + 1.0))
    }

    fn x(&self, second: f64) -> f64 {
        let (first, last) = self.span();
        LEFT + (RIGHT - LEFT) * ((second - first) / (last - first)).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64, low: f64, high: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Logarithmic => (value.log10() - low.log10()) / (high.log10() - low.log10()),
        };
        BOTTOM - (BOTTOM - TOP) * share.clamp(0.0, 1.0)
    }

    /// Round numbers that enclose all values.
    fn bounds(&self) -> (f64, f64) {
        let values = || self.lines.iter().flat_map(|line| &line.values).flatten().copied();
        let high = values().fold(0.0, f64::max);
        match self.scale {
            Scale::Linear => (0.0, round_up(if high > 0.0 { high } else { 1.0 })),
            Scale::Logarithmic => {
                let low = values().filter(|value| *value > 0.0).fold(f64::MAX, f64::min).min(high.max(0.1));
                let (low, high) = (low.log10().floor(), high.max(0.1).log10().ceil());
                (10_f64.powf(low), 10_f64.powf(high.max(low + 1.0)))
            }
        }
    }

    fn ticks(&self, low: f64, high: f64) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=TICKS).map(|number| high * number as f64 / TICKS as f64).collect(),
            Scale::Logarithmic => {
                let decades = (high / low).log10().round() as i32;
                (0..=decades).map(|decade| low * 10_f64.powi(decade)).collect()
            }
        }
    }
}

/// The next of 1, 2, 2.5, 5 and 10 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(power * 10.0)
}

/// A number in the short form of axes.
fn figure(value: f64) -> String {
    let (value, suffix) = match value {
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e4 => (value / 1e3, "k"),
        value => (value, ""),
    };
    let text = format!("{value:.3}");
    format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, values: &[Option<f64>]) -> (f64, f64, String) {
        let seconds: Vec<u32> = (0..values.len() as u32).collect();
        let line = Line { name: "n", label: "l", values: values.to_vec() };
        let chart = Chart { title: "t", unit: "", scale, seconds: &seconds, measured: None, lines: vec![line] };
        let (low, high) = chart.bounds();
        (low, high, chart.path(&chart.lines[0], low, high))
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(chart(Scale::Linear, &[Some(3.0), Some(173.0)]).1, 200.0);
        assert_eq!(chart(Scale::Linear, &[None]).1, 1.0);
        let (low, high, _) = chart(Scale::Logarithmic, &[Some(0.3), Some(42.0)]);
        assert!((low - 0.1).abs() < 1e-9 && (high - 100.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(figure(0.25), "0.25");
        assert_eq!(figure(12_500.0), "12.5k");
    }

    #[test]
    fn a_missing_second_is_a_gap() {
        let (_, _, path) = chart(Scale::Linear, &[Some(0.0), Some(1.0), None, Some(0.5)]);
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(path.starts_with(&format!("M{LEFT:.1} {BOTTOM:.1}")), "{path}");
    }
}
