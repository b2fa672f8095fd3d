//! The located error type for `usda` text parsing.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;

/// Longest source line rendered in full. Longer lines are windowed around the
/// caret, so a failure on one of the very long single-line arrays that
/// crate-to-text conversion emits reports a readable excerpt.
const SNIPPET_WIDTH: usize = 160;

/// The marker placed at each end of a windowed snippet.
const ELLIPSIS: &str = "...";

/// Stands in for the source lines between the two ends of a span, of which a
/// diagnostic prints only the ends.
const ELIDED_LINES: &str = "...";

/// A `usda` parse failure together with the source location it points at.
///
/// The location is resolved once, when the error is built; formatting renders
/// the stored lines and their carets.
#[derive(Debug)]
pub struct ParseError {
    cause: RawError,
    head: MarkedLine,
    /// The line the span closes on, when it closes on a later one than it opens.
    ///
    /// Boxed because the span of an ordinary token stays within one line, and
    /// [`SchemaRegistryError`](crate::usd::SchemaRegistryError) and
    /// [`ArchiveError`](crate::usdz::ArchiveError) carry a `ParseError` by
    /// value: the common failure should not grow by the rare one's cost.
    tail: Option<Box<MarkedLine>>,
    source_name: Option<Box<str>>,
}

/// One source line with the region of it a diagnostic marks.
///
/// A span reaching past the line is clamped to it, so the two ends of a span
/// crossing a line boundary mark the same thing under one rule: whatever of the
/// span falls on that line.
#[derive(Debug)]
struct MarkedLine {
    /// 1-based line number.
    line: usize,
    /// 1-based column the mark starts at, counted in characters.
    column: usize,
    /// The line without its terminator, windowed when too long to print whole.
    snippet: Box<str>,
    /// Byte range within `snippet` the caret underlines.
    marker: Range<usize>,
}

/// Which end of a span a [`MarkedLine`] carries.
enum Edge {
    /// The line the span opens on, marked from where the span starts.
    Opens,
    /// The line the span closes on, marked from that line's own start.
    Closes,
}

impl MarkedLine {
    /// Marks the part of `span` falling on `line`, which carries the span's
    /// `edge`. Both are byte offsets into the source `line` came from.
    fn mark(line: &Line<'_>, span: &Range<usize>, edge: Edge) -> Self {
        // Clamping against the trimmed line keeps a span reaching that line's
        // `\r`, or lying off it entirely, from indexing past the snippet while
        // formatting.
        let visible_end = line.end();
        let from = match edge {
            Edge::Opens => span.start.clamp(line.start, visible_end),
            Edge::Closes => line.start,
        } - line.start;
        let to = span.end.clamp(line.start, visible_end) - line.start;

        // A windowed excerpt has to keep the span's own boundary on this line,
        // rather than the line edge its other end is clamped to.
        let focus = match edge {
            Edge::Opens => from,
            Edge::Closes => to,
        };

        // Counted before windowing, whose ellipsis prefix would shift it.
        let column = line.text[..from].chars().count() + 1;
        let (snippet, marker) = window(line.text, from..to, focus);
        Self {
            line: line.number,
            column,
            snippet,
            marker,
        }
    }

    /// Writes the numbered source line and the caret line under it, without a
    /// trailing newline.
    fn write(&self, f: &mut fmt::Formatter<'_>, pad: usize) -> fmt::Result {
        let (line, snippet) = (self.line, &self.snippet);
        writeln!(f, "{line:pad$} | {snippet}")?;
        write!(f, "{:pad$} | ", "")?;
        // Tabs stay tabs so the caret lands under the token.
        for ch in snippet[..self.marker.start].chars() {
            write!(f, "{}", if ch == '\t' { '\t' } else { ' ' })?;
        }
        let width = snippet[self.marker.clone()].chars().count().max(1);
        write!(f, "{:^<width$}", "")
    }
}

impl ParseError {
    /// Locates `span` within `source`, keeping the lines it opens and closes on.
    pub(super) fn new(cause: RawError, source: &str, span: Range<usize>) -> Self {
        // An end-of-input span starts one past the last byte, which belongs to
        // no line; step back onto the final character so the location lands on
        // real text.
        let offset = if span.start < source.len() {
            span.start
        } else {
            step_back(source, source.len())
        };
        let opening = line_at(source, offset);
        let head = MarkedLine::mark(&opening, &(offset..span.end), Edge::Opens);

        // The span's end is exclusive, so its final character says where it
        // closes, and a line terminator between there and the opening line's
        // start is what puts it on a later line. An empty span has no such
        // character, leaving that range inverted and nothing to close.
        let last = step_back(source, span.end);
        let tail = source
            .get(opening.start..last)
            .is_some_and(|opened| opened.contains('\n'))
            .then(|| {
                let closing = line_at(source, last);
                Box::new(MarkedLine::mark(&closing, &span, Edge::Closes))
            });

        Self {
            cause,
            head,
            tail,
            source_name: None,
        }
    }

    /// The 1-based line the error points at.
    pub fn line(&self) -> usize {
        self.head.line
    }

    /// The 1-based column the error points at, counted in characters.
    pub fn column(&self) -> usize {
        self.head.column
    }

    /// The source line the error opens on, without its line terminator. A line
    /// longer than can be usefully printed is excerpted around the caret.
    ///
    /// A span reaching past that line — a multi-line token — closes on a later
    /// one this does not report; the [`Display`](fmt::Display) rendering is the
    /// complete one.
    pub fn snippet(&self) -> &str {
        &self.head.snippet
    }

    /// Names the source the text was read from, so the rendered location reads
    /// `name:line:column`.
    pub fn with_source_name(mut self, name: impl Into<Box<str>>) -> Self {
        self.source_name = Some(name.into());
        self
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.cause)?;
        write!(f, " --> ")?;
        if let Some(name) = &self.source_name {
            write!(f, "{name}:")?;
        }
        writeln!(f, "{}:{}", self.head.line, self.head.column)?;

        // The gutter is sized for the largest line number it will carry.
        let last_line = self.tail.as_ref().map_or(self.head.line, |tail| tail.line);
        let pad = last_line.to_string().len();
        writeln!(f, "{:pad$} |", "")?;
        self.head.write(f, pad)?;

        let Some(tail) = &self.tail else {
            return Ok(());
        };
        writeln!(f)?;
        // Only the two ends of a long span are worth printing; the lines it
        // runs through say nothing the reader cannot see in the source.
        if tail.line > self.head.line + 1 {
            writeln!(f, "{ELIDED_LINES}")?;
        }
        tail.write(f, pad)
    }
}

impl StdError for ParseError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.0.source.as_deref().map(|source| source as _)
    }
}

/// The parser-internal failure behind a [`ParseError`]: the innermost message,
/// the breadcrumb trail of grammar productions above it, and the typed failure
/// that started it when one exists (a path or number that failed to parse).
///
/// One pointer wide, so the cursor and parser hot paths return a cheap
/// `Result`; the located, user-facing [`ParseError`] is built from this once,
/// at the parser's public entry point.
pub(crate) struct RawError(Box<Inner>);

/// Heap payload of [`RawError`].
struct Inner {
    /// The innermost failure message.
    message: Cow<'static, str>,
    /// Breadcrumbs naming the grammar productions the failure surfaced
    /// through, pushed innermost-first.
    trail: Vec<Cow<'static, str>>,
    /// The typed failure that started it, when one exists.
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl RawError {
    /// Wraps a failure message.
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            message: message.into(),
            trail: Vec::new(),
            source: None,
        }))
    }

    /// Pushes a breadcrumb naming the grammar production the failure is
    /// surfacing through.
    fn push(mut self, crumb: impl Into<Cow<'static, str>>) -> Self {
        self.0.trail.push(crumb.into());
        self
    }
}

impl fmt::Display for RawError {
    /// Renders the trail outermost-first, ending with the innermost message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for crumb in self.0.trail.iter().rev() {
            write!(f, "{crumb}: ")?;
        }
        write!(f, "{}", self.0.message)
    }
}

impl fmt::Debug for RawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawError")
            .field("message", &self.0.message)
            .field("trail", &self.0.trail)
            .field("source", &self.0.source)
            .finish()
    }
}

/// Every typed error converts by keeping its rendered message and itself as
/// the source, so `?` works throughout the parser and the original error stays
/// reachable through [`StdError::source`] on [`ParseError`].
impl<E: StdError + Send + Sync + 'static> From<E> for RawError {
    fn from(error: E) -> Self {
        Self(Box::new(Inner {
            message: error.to_string().into(),
            trail: Vec::new(),
            source: Some(Box::new(error)),
        }))
    }
}

/// Returns `Err(RawError)` built from a format string.
macro_rules! bail {
    ($($arg:tt)*) => {
        return Err($crate::usda::error::RawError::new(format!($($arg)*)))
    };
}

/// Returns a failure built from a format string unless `cond` holds.
macro_rules! ensure {
    ($cond:expr, $($arg:tt)*) => {
        if !$cond {
            bail!($($arg)*);
        }
    };
}

pub(crate) use {bail, ensure};

/// Breadcrumb wrapping for parser `Result`s and `Option`s.
pub(crate) trait Ctx<T> {
    /// Wraps the failure with a breadcrumb naming the enclosing production.
    fn context(self, crumb: impl Into<Cow<'static, str>>) -> Result<T, RawError>;

    /// Like [`context`](Self::context), but builds the breadcrumb lazily.
    fn with_context<C: Into<Cow<'static, str>>>(self, f: impl FnOnce() -> C) -> Result<T, RawError>;
}

impl<T, E: Into<RawError>> Ctx<T> for Result<T, E> {
    fn context(self, crumb: impl Into<Cow<'static, str>>) -> Result<T, RawError> {
        self.map_err(|error| error.into().push(crumb))
    }

    fn with_context<C: Into<Cow<'static, str>>>(self, f: impl FnOnce() -> C) -> Result<T, RawError> {
        self.map_err(|error| error.into().push(f()))
    }
}

impl<T> Ctx<T> for Option<T> {
    /// A missing value reports the breadcrumb itself as the failure.
    fn context(self, crumb: impl Into<Cow<'static, str>>) -> Result<T, RawError> {
        self.ok_or_else(|| RawError::new(crumb))
    }

    fn with_context<C: Into<Cow<'static, str>>>(self, f: impl FnOnce() -> C) -> Result<T, RawError> {
        self.ok_or_else(|| RawError::new(f()))
    }
}

/// Steps `offset` back onto the previous character, staying on a char boundary
/// and stopping at 0.
fn step_back(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    if offset > 0 {
        offset -= 1;
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
    }
    offset
}

/// One source line, located by a byte offset falling on it.
struct Line<'a> {
    /// 1-based line number.
    number: usize,
    /// Byte offset the line begins at.
    start: usize,
    /// The line itself, without its terminator.
    text: &'a str,
}

impl Line<'_> {
    /// Byte offset just past the line's last printable character.
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The line `offset` falls on.
fn line_at(source: &str, offset: usize) -> Line<'_> {
    let start = source[..offset].rfind('\n').map_or(0, |index| index + 1);
    let end = source[offset..].find('\n').map_or(source.len(), |index| offset + index);
    let text = &source[start..end];
    Line {
        number: source[..start].matches('\n').count() + 1,
        start,
        text: text.strip_suffix('\r').unwrap_or(text),
    }
}

/// Trims `line` to a window around `focus` when it is too long to print,
/// returning the excerpt and `marker` rebased onto it.
fn window(line: &str, marker: Range<usize>, focus: usize) -> (Box<str>, Range<usize>) {
    if line.len() <= SNIPPET_WIDTH {
        return (line.into(), marker);
    }

    let mut start = focus.saturating_sub(SNIPPET_WIDTH / 2);
    while start > 0 && !line.is_char_boundary(start) {
        start -= 1;
    }
    // Bound the excerpt itself, so an offending token wider than the window
    // cannot pull the rest of the line in behind it.
    let mut end = start.saturating_add(SNIPPET_WIDTH).min(line.len());
    while end < line.len() && !line.is_char_boundary(end) {
        end += 1;
    }

    let prefix = if start > 0 { ELLIPSIS } else { "" };
    let suffix = if end < line.len() { ELLIPSIS } else { "" };
    let excerpt = format!("{prefix}{}{suffix}", &line[start..end]);
    let shift = prefix.len();
    let rebased = (marker.start.max(start) - start + shift)..(marker.end.min(end) - start + shift);

    (excerpt.into(), rebased)
}
