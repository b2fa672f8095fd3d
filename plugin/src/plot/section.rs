//! Outlines side by side: what soft things look like, cut through.

use super::panel::Panel;
use super::svg::Svg;
use super::{COLOURS, WIDTH};

/// One outline, at rest and as it is now. Closed.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Scene units.
    pub rest: Vec<(f64, f64)>,
    /// Scene units.
    pub now: Vec<(f64, f64)>,
}

/// Draws figures next to each other at one scale, each with its heading: outlines as they are, and dashed at rest.
pub fn draw_sections(title: &str, figures: &[(&str, Vec<Outline>)]) -> String {
    let mut svg = Svg::default();
    svg.text("title", 20.0, 26.0, title);
    let width = (WIDTH - 20.0) / figures.len().max(1) as f64 - 20.0;
    let points = || figures.iter().flat_map(|f| &f.1).flat_map(|o| o.rest.iter().chain(&o.now));
    let most = points().fold((1e-9_f64, 1e-9_f64), |m, p| (m.0.max(p.0.abs()), m.1.max(p.1.abs())));
    let (x, y) = (most.0 * 1.05, most.1 * 1.05);
    let height = width * y / x;
    for (i, (heading, outlines)) in figures.iter().enumerate() {
        let left = 20.0 + i as f64 * (width + 20.0);
        let panel = Panel { left, top: 66.0, width, height, x: (-x, x), y: (-y, y), downward: false };
        svg.text("head", left, 56.0, heading);
        for (outline, colour) in outlines.iter().zip(COLOURS) {
            let closed = |p: &[(f64, f64)]| {
                panel.path(p.iter().chain(p.first()).copied().collect::<Vec<_>>().into_iter())
            };
            svg.curve("keys", colour, &closed(&outline.rest));
            svg.curve("curve", colour, &closed(&outline.now));
        }
    }
    svg.finish(WIDTH, height + 86.0)
}
