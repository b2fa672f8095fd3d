//! Token-stream mechanics for the `usda` text parser.

use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;

use logos::{Logos, SpannedIter};

use super::error::{RawError, bail, ensure};
use super::token::Token;

// TODO: `sdf::expr` drives its own `Peekable<SpannedIter>` with the same
// peek/next/expect shape. A `Cursor<'source, T: Logos<'source>>` generic over
// the token type would serve both, once they agree on whether a lex error is
// an error at lookahead or only at consume.

/// A one-token-lookahead view over the `usda` token stream.
///
/// Owns the lexer and the byte span of the most recently observed position.
/// Parsing records byte offsets alone; a line and column are derived from
/// [`source`] and [`diagnostic_span`] once a parse has failed.
///
/// [`source`]: Cursor::source
/// [`diagnostic_span`]: Cursor::diagnostic_span
pub(super) struct Cursor<'source> {
    iter: Peekable<SpannedIter<'source, Token<'source>>>,
    source: &'source str,
    last_span: Option<Range<usize>>,
    /// Where the token most recently *consumed* ended, which
    /// [`last_span`](Self::last_span) cannot say: that one follows lookahead
    /// too, so it moves past text no caller has taken yet.
    consumed_end: usize,
}

impl<'source> Cursor<'source> {
    pub(super) fn new(source: &'source str) -> Self {
        Self {
            iter: Token::lexer(source).spanned().peekable(),
            source,
            last_span: None,
            consumed_end: 0,
        }
    }

    /// The full input this cursor reads from.
    pub(super) fn source(&self) -> &'source str {
        self.source
    }

    /// The span an error should point at.
    ///
    /// Every observation records its span — a consumed token, a peeked one, a
    /// lexeme that failed to lex, or the end of the input — so an error points
    /// at whatever the parser was looking at, whether or not it consumed it.
    /// This accessor reads that state rather than advancing the lexer.
    pub(super) fn diagnostic_span(&self) -> Range<usize> {
        self.last_span.clone().unwrap_or(self.source.len()..self.source.len())
    }

    /// Where the next token begins, without consuming it.
    ///
    /// For a caller recording the source text of something it is about to
    /// read. [`diagnostic_span`](Self::diagnostic_span) cannot answer this:
    /// it follows whatever was last observed, lookahead included.
    pub(super) fn next_offset(&mut self) -> usize {
        match self.iter.peek() {
            Some((_, span)) => span.start,
            None => self.source.len(),
        }
    }

    /// Where the token most recently consumed ended, or the start of the input
    /// if nothing has been consumed.
    pub(super) fn consumed_end(&self) -> usize {
        self.consumed_end
    }

    /// Returns the next token without consuming it, or `None` at the end of the
    /// stream.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<&Token<'source>>, RawError> {
        match self.iter.peek() {
            Some((Ok(token), span)) => {
                self.last_span = Some(span.start..span.end);
                Ok(Some(token))
            }
            Some((Err(_), span)) => {
                self.last_span = Some(span.start..span.end);
                bail!("Logos error")
            }
            None => {
                self.last_span = Some(self.source.len()..self.source.len());
                Ok(None)
            }
        }
    }

    /// Whether the next token equals `expected`, without consuming it.
    #[inline]
    fn at(&mut self, expected: &Token<'_>) -> Result<bool, RawError> {
        Ok(matches!(self.peek()?, Some(token) if token == expected))
    }

    /// Consumes and returns the next token.
    #[inline]
    pub(super) fn bump(&mut self) -> Result<Token<'source>, RawError> {
        let Some((token, span)) = self.iter.next() else {
            self.last_span = Some(self.source.len()..self.source.len());
            bail!("Unexpected end of tokens");
        };
        self.consumed_end = span.end;
        self.last_span = Some(span);
        token.map_err(|_| RawError::new("Logos error"))
    }

    /// Consumes the next token if it equals `expected`, reporting whether it
    /// was consumed.
    #[inline]
    pub(super) fn eat(&mut self, expected: &Token<'_>) -> Result<bool, RawError> {
        if self.at(expected)? {
            self.bump()?;
            Ok(true)
        } else {
            Ok(false)
        }
    }

    /// Consumes the next token, requiring it to equal `expected`.
    fn expect(&mut self, expected: Token<'_>) -> Result<(), RawError> {
        let token = self.bump()?;
        ensure!(
            token == expected,
            "Unexpected token (want: {expected:?}, got {token:?})"
        );
        Ok(())
    }

    /// Whether the next token is the punctuation `value`, without consuming it.
    #[inline]
    pub(super) fn at_punctuation(&mut self, value: char) -> Result<bool, RawError> {
        self.at(&Token::Punctuation(value))
    }

    /// Consumes the punctuation `value` if it is next.
    #[inline]
    pub(super) fn eat_punctuation(&mut self, value: char) -> Result<bool, RawError> {
        self.eat(&Token::Punctuation(value))
    }

    /// Consumes the next token, requiring it to be the punctuation `value`.
    #[inline]
    pub(super) fn expect_punctuation(&mut self, value: char) -> Result<(), RawError> {
        self.expect(Token::Punctuation(value))
    }

    /// Consumes a quoted string, borrowed from the source unless it carried an
    /// escape sequence.
    pub(super) fn expect_string(&mut self) -> Result<Cow<'source, str>, RawError> {
        match self.bump()? {
            Token::String(text) => Ok(text),
            other => bail!("Unexpected token {other:?} (want String)"),
        }
    }

    /// Consumes a plain or namespaced identifier.
    pub(super) fn expect_identifier(&mut self) -> Result<&'source str, RawError> {
        match self.bump()? {
            Token::Identifier(name) | Token::NamespacedIdentifier(name) => Ok(name),
            other => bail!("expected identifier, got {other:?}"),
        }
    }

    /// Consumes an asset reference (`@...@`) and returns its body.
    pub(super) fn expect_asset_ref(&mut self) -> Result<&'source str, RawError> {
        match self.bump()? {
            Token::AssetRef(asset_path) => Ok(asset_path),
            other => bail!("Asset reference expected, got {other:?}"),
        }
    }

    /// Consumes a path reference (`<...>`) and returns its body.
    pub(super) fn expect_path_ref(&mut self) -> Result<&'source str, RawError> {
        match self.bump()? {
            Token::PathRef(path) => Ok(path),
            other => bail!("Path reference expected, got {other:?}"),
        }
    }
}
