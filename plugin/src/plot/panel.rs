//! A rectangle of the page with two axes.

use super::svg::{Svg, number};
use super::ticks;

/// Where a panel is, and which numbers it shows.
pub struct Panel {
    /// Left edge, px.
    pub left: f64,
    /// Upper edge, px.
    pub top: f64,
    /// px.
    pub width: f64,
    /// px.
    pub height: f64,
    /// Numbers at the left and right edge.
    pub x: (f64, f64),
    /// Numbers at the lower and upper edge.
    pub y: (f64, f64),
    /// Whether the vertical axis grows downward, as z does seen from above.
    pub downward: bool,
}

impl Panel {
    /// Where a point is on the page.
    pub fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let share = |v: f64, (a, b): (f64, f64)| (v - a) / (b - a);
        let up = share(y, self.y);
        let down = if self.downward { up } else { 1.0 - up };
        (self.left + self.width * share(x, self.x), self.top + self.height * down)
    }

    /// Path data through points; a point without finite numbers parts the line.
    pub fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut d = String::new();
        let mut pen_down = false;
        let mut last = String::new();
        for point in points {
            let (x, y) = self.at(point);
            if !(x.is_finite() && y.is_finite()) {
                pen_down = false;
                continue;
            }
            let place = format!("{} {}", number(x), number(y));
            if pen_down && place == last {
                continue;
            }
            d.push(if pen_down { 'L' } else { 'M' });
            d += &place;
            (pen_down, last) = (true, place);
        }
        d
    }

    /// Path data of a smooth curve through points: between frames a body turns no corners, except on the way to those
    /// where `corners` says so.
    pub fn smooth_path(&self, points: impl Iterator<Item = (f64, f64)>, corners: &[bool]) -> String {
        let p: Vec<(f64, f64)> = points.map(|p| self.at(p)).collect();
        if p.iter().any(|p| !(p.0.is_finite() && p.1.is_finite())) {
            return String::new();
        }
        let place = |p: (f64, f64)| format!("{} {}", number(p.0), number(p.1));
        let mut d = p.first().map_or_else(String::new, |p| format!("M{}", place(*p)));
        for i in 1..p.len() {
            if place(p[i]) == place(p[i - 1]) {
                continue;
            }
            let corner = |k: usize| corners.get(k).is_some_and(|c| *c);
            if corner(i) {
                d += &format!("L{}", place(p[i]));
                continue;
            }
            // Catmull-Rom: the slope at a point is that of its neighbours, on this side of a corner.
            let before = if corner(i - 1) { p[i - 1] } else { p[i.saturating_sub(2)] };
            let after = if corner(i + 1) { p[i] } else { p[(i + 1).min(p.len() - 1)] };
            let lean = |at: (f64, f64), a: (f64, f64), b: (f64, f64), s: f64| {
                (at.0 + s * (b.0 - a.0) / 6.0, at.1 + s * (b.1 - a.1) / 6.0)
            };
            let (c1, c2) = (lean(p[i - 1], before, p[i], 1.0), lean(p[i], p[i - 1], after, -1.0));
            d += &format!("C{} {} {}", place(c1), place(c2), place(p[i]));
        }
        d
    }

    /// Edges, grid, numbers and a heading. `numbers_below`: whether the horizontal axis has its numbers.
    pub fn frame(&self, svg: &mut Svg, heading: &str, numbers_below: bool) {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let class = |v: f64| if v == 0.0 { "grid zero" } else { "grid" };
        let (across, decimals) = ticks::round(self.x, 8.0);
        for v in across {
            let (x, _) = self.at((v, self.y.0));
            svg.line(class(v), (x, self.top), (x, bottom));
            if numbers_below {
                svg.text("tick across", x, bottom + 16.0, &ticks::label(v, decimals));
            }
        }
        let (up, decimals) = ticks::round(self.y, (self.height / 40.0).max(2.0));
        for v in up {
            let (_, y) = self.at((self.x.0, v));
            svg.line(class(v), (self.left, y), (right, y));
            svg.text("tick up", self.left - 8.0, y + 4.0, &ticks::label(v, decimals));
        }
        svg.frame(self.left, self.top, self.width, self.height);
        svg.text("head", self.left, self.top - 8.0, heading);
    }
}
