//! Places in files. Errors of the parser and of running code name places in the author's file, not in the JavaScript
//! that was made from it.

use std::sync::Arc;

use rquickjs::{Ctx, Function, Result};

use super::sources::Sources;

/// Maps places in generated JavaScript to places in the author's file. Each entry is line and column in the generated
/// text, then line and column in the author's file; all are counted from one.
pub(super) struct PlaceMap(Vec<[u32; 4]>);

impl PlaceMap {
    /// A map of entries in any order.
    pub(super) fn new(pieces: impl Iterator<Item = [u32; 4]>) -> Self {
        let mut pieces: Vec<_> = pieces.collect();
        pieces.sort_unstable();
        Self(pieces)
    }

    /// The place in the author's file for a place in generated JavaScript. It is that of the last entry at or before
    /// the place in the same line, else that of the next entry.
    pub(super) fn source_of(&self, line: u32, column: u32) -> (u32, u32) {
        let behind = self.0.partition_point(|piece| (piece[0], piece[1]) <= (line, column));
        let before = behind.checked_sub(1).and_then(|index| self.0.get(index)).filter(|piece| piece[0] == line);
        let found = before.or_else(|| self.0.get(behind)).or_else(|| self.0.last());
        found.map_or((line, column), |piece| (piece[2], piece[3]))
    }
}

/// A place in a text as `line:column`.
pub(super) fn place_in(text: &str, offset: u32) -> String {
    let before = text.get(..offset as usize).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

/// Script that installs a formatter of stacks. It writes stacks as QuickJS does, but with places in the author's files.
const TRACE: &str = "((at) => {
    Error.prepareStackTrace = (_, sites) => {
        let stack = '';
        for (let i = 0; i < sites.length; i += 1) {
            const site = sites[i];
            const name = site.getFunctionName();
            const place = site.isNative() ? 'native' : at(site.getFileName() ?? '', site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0);
            stack += name || site.getFunction() ? `    at ${name || '<anonymous>'} (${place})\\n` : `    at ${place}\\n`;
        }
        return stack;
    };
})";

/// Makes errors of a context name places in the author's files from now on.
pub(super) fn name_written_places<'js>(ctx: &Ctx<'js>, sources: &Arc<Sources>) -> Result<()> {
    let sources = sources.clone();
    let at = move |file: String, line: u32, column: u32| {
        let (line, column) = sources
            .get(&file)
            .and_then(|file| file.places.as_ref())
            .map_or((line, column), |places| places.source_of(line, column));
        format!("{file}:{line}:{column}")
    };
    ctx.eval::<Function<'js>, _>(TRACE)?.call((Function::new(ctx.clone(), at)?,))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one_in_characters() {
        for (offset, expect) in [(0, "1:1"), (3, "1:3"), (4, "2:1"), (5, "2:2"), (99, "2:2")] {
            assert_eq!(place_in("aü\nb", offset), expect, "{offset}");
        }
    }

    #[test]
    fn a_place_is_of_the_piece_before_it() {
        let places = PlaceMap::new([[1, 1, 10, 1], [1, 5, 10, 20], [3, 2, 12, 1]].into_iter());
        for (at, expect) in
            [((1, 1), (10, 1)), ((1, 4), (10, 1)), ((1, 9), (10, 20)), ((2, 1), (12, 1)), ((9, 9), (12, 1))]
        {
            assert_eq!(places.source_of(at.0, at.1), expect, "{at:?}");
        }
        assert_eq!(PlaceMap::new(std::iter::empty()).source_of(2, 3), (2, 3));
    }
}
