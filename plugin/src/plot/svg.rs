//! The few marks that a figure is made of, as SVG text.

/// Looks of the marks. The ground is white, so that a page in dark colours shows the figure as it is.
const STYLE: &str = "\
text{font-family:'Helvetica Neue',Arial,'Liberation Sans',sans-serif;fill:#333}\
.title{font-size:15px;font-weight:bold;fill:#111}.label{font-size:13px}.head{font-size:12px;fill:#555}\
.tick{font-size:11px;fill:#666}.across{text-anchor:middle}.up{text-anchor:end}\
.grid{stroke:#e4e4e4;stroke-width:1}.zero{stroke:#bbb}.box{fill:none;stroke:#999;stroke-width:1}\
path{fill:none;stroke-linejoin:round;stroke-linecap:round}.curve{stroke-width:2}.thin{stroke-width:1.5}\
.keys{stroke-width:1.2;stroke-dasharray:5 4}.faint{opacity:.35}.limit{stroke-width:1.5}";

/// Looks of the keys behind what moves.
const GHOST: &str = ".ghost{opacity:.5}";

/// Looks of shapes, for figures that have some.
const SHAPES: &str = ".body{fill:#fff;fill-opacity:.8;stroke-width:1.5}";

/// A document in the making.
#[derive(Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// Text whose baseline begins, ends or is centred at a point, as its class says.
    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y) = (number(x), number(y));
        self.body += &format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escape(text));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.body += &format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n");
    }

    /// A rectangle without filling.
    pub fn frame(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.body +=
            &format!("<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\n");
    }

    /// A curve along the path data `d`.
    pub fn curve(&mut self, class: &str, colour: &str, d: &str) {
        if !d.is_empty() {
            self.body += &format!("<path class=\"{class}\" stroke=\"{colour}\" d=\"{d}\"/>\n");
        }
    }

    /// A straight line in a colour of its own.
    pub fn stroke(&mut self, class: &str, colour: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.curve(class, colour, &format!("M{x1} {y1}L{x2} {y2}"));
    }

    /// A dot.
    pub fn circle(&mut self, class: &str, at: (f64, f64), radius: f64, colour: &str) {
        let (x, y) = (number(at.0), number(at.1));
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.body += &format!("<circle{class} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>\n");
    }

    /// A ring with a white inside.
    pub fn ring(&mut self, at: (f64, f64), radius: f64, colour: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.body += &format!(
            "<circle class=\"limit\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#fff\" stroke=\"{colour}\"/>\n"
        );
    }

    /// A circle that hides what is behind it.
    pub fn round(&mut self, at: (f64, f64), radius: f64, colour: &str) {
        let [x, y, radius] = [at.0, at.1, radius].map(number);
        self.body +=
            &format!("<circle class=\"body\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" stroke=\"{colour}\"/>\n");
    }

    /// The area inside the path data `d`.
    pub fn area(&mut self, colour: &str, d: &str) {
        if !d.is_empty() {
            self.body += &format!("<path style=\"fill:{colour}\" d=\"{d}Z\"/>\n");
        }
    }

    /// Marks as they are.
    pub fn marks(&mut self, marks: &str) {
        self.body += marks;
    }

    /// Marks that were written around the origin, moved to a point.
    pub fn group(&mut self, x: f64, y: f64, marks: &str) {
        self.body += &format!("<g transform=\"translate({} {})\">{marks}</g>\n", number(x), number(y));
    }

    /// The document.
    pub fn finish(self, width: f64, height: f64) -> String {
        let (width, height) = (number(width), number(height));
        let shapes = if self.body.contains("class=\"body\"") { SHAPES } else { "" };
        let ghost = if self.body.contains("class=\"ghost\"") { GHOST } else { "" };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}{shapes}{ghost}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A tenth of a pixel is finer than anyone sees; "-0" and ".0" are noise.
pub fn number(v: f64) -> String {
    let text = format!("{v:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// Text that cannot end the element it stands in. Control characters, which XML has no place for, become blanks.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_element() {
        assert_eq!(escape("a<b> & \"c\"\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot; ");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, -0.01, 2.25, 1e3].map(number), ["1", "0", "2.2", "1000"]);
    }
}
