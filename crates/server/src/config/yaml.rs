//! YAML files as lists of settings with their lines. Nested maps and dotted keys mean the same; anchors, aliases and
//! merge keys work. This module knows nothing of types: every scalar stays the text that was written.

use std::{collections::HashMap, path::Path};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};

/// Largest depth of nested values: far more than a configuration needs.
const MAX_DEPTH: usize = 32;
/// Largest number of values in a document, with aliases expanded: far more than a configuration needs, and too few for
/// a document that is written to fill the memory.
const MAX_NODES: usize = 20_000;

/// A value with its line.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) enum Value {
    /// No value, which leaves the key as it is.
    Null,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Pair>),
}

/// One entry of a map.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

/// A fault of the text, with its line.
#[derive(Debug)]
pub(crate) struct YamlError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        YamlError { line: error.marker().line(), message: format!("this is no valid YAML: {}", error.info()) }
    }
}

/// Reads a text of one document whose root is a map. An empty text is an empty map.
pub(crate) fn read_map(text: &str) -> Result<Vec<Pair>, YamlError> {
    let root = Builder { parser: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 }.document()?;
    match root.value {
        Value::Map(pairs) => Ok(pairs),
        Value::Null => Ok(Vec::new()),
        _ => {
            Err(YamlError { line: root.line, message: "expected keys with values, such as `name: muster`".to_owned() })
        }
    }
}

/// Reads a list in one line, `[a, b]`; `None` if the text is not one.
pub(crate) fn read_flow_list(text: &str) -> Option<Vec<String>> {
    let trimmed = text.trim();
    if !(trimmed.starts_with('[') && trimmed.ends_with(']')) {
        return None;
    }
    let root = Builder { parser: Parser::new_from_str(trimmed), anchors: HashMap::new(), nodes: 0 }.document().ok()?;
    let Value::List(items) = root.value else { return None };
    items.into_iter().map(|item| if let Value::Scalar(text) = item.value { Some(text) } else { None }).collect()
}

/// The problem of a file, with the path that [`super::setting::Source`] also names.
pub(crate) fn problem(path: &Path, error: YamlError) -> super::problem::Problem {
    super::problem::Problem::Yaml { path: path.to_owned(), line: error.line, message: error.message }
}

/// Builds the tree from the parser's events.
struct Builder<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'t> Builder<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Marker), YamlError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start)),
            Some(Err(error)) => Err(error.into()),
            None => Ok((Event::StreamEnd, Marker::new(0, 0, 0))),
        }
    }

    fn document(&mut self) -> Result<Node, YamlError> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(root.unwrap_or(Node { line: 1, value: Value::Null })),
                (Event::DocumentStart(_), at) if root.is_some() => {
                    return Err(fault(at, "a second document; a configuration file has one"));
                }
                (Event::DocumentStart(_), _) => {
                    let (event, at) = self.next()?;
                    root = Some(self.node(event, at, 0)?);
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'t>, at: Marker, depth: usize) -> Result<Node, YamlError> {
        if depth > MAX_DEPTH {
            return Err(fault(at, "nested too deeply"));
        }
        self.count(1, at)?;
        let (anchor, value) = match event {
            Event::Alias(id) => return self.alias(id, at),
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                return Err(fault(at, "tags are not used here: every value is read as its key needs it"));
            }
            Event::Scalar(text, style, anchor, None) => (anchor, scalar(&text, style)),
            Event::SequenceStart(anchor, None) => (anchor, Value::List(self.list(depth)?)),
            Event::MappingStart(anchor, None) => (anchor, Value::Map(self.map(depth)?)),
            _ => return Err(fault(at, "a value is missing")),
        };
        let node = Node { line: at.line(), value };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn alias(&mut self, id: usize, at: Marker) -> Result<Node, YamlError> {
        let node = self.anchors.get(&id).cloned().ok_or_else(|| fault(at, "an alias inside of what it names"))?;
        self.count(size(&node), at)?;
        Ok(node)
    }

    fn count(&mut self, nodes: usize, at: Marker) -> Result<(), YamlError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES { Err(fault(at, "more values than a configuration file may have")) } else { Ok(()) }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, at) => items.push(self.node(event, at, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Pair>, YamlError> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut merged: Vec<Pair> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let Value::Scalar(name) = self.node(event, at, depth + 1)?.value else {
                return Err(fault(at, "a key must be a text"));
            };
            let (event, value_at) = self.next()?;
            let node = self.node(event, value_at, depth + 1)?;
            if name == "<<" {
                merge(&mut merged, node)?;
            } else if let Some(first) = pairs.iter().find(|pair| pair.name == name) {
                return Err(fault(at, &format!("`{name}` stands here a second time, after line {}", first.line)));
            } else {
                pairs.push(Pair { name, line: at.line(), node });
            }
        }
        // The map's own pairs win over those that it merges in.
        merged.retain(|pair| pairs.iter().all(|own| own.name != pair.name));
        pairs.append(&mut merged);
        Ok(pairs)
    }
}

/// Adds the pairs of a merge key's map, or of its list of maps. The first map that has a key wins.
fn merge(merged: &mut Vec<Pair>, node: Node) -> Result<(), YamlError> {
    match node.value {
        Value::Map(pairs) => {
            for pair in pairs {
                if merged.iter().all(|known| known.name != pair.name) {
                    merged.push(pair);
                }
            }
            Ok(())
        }
        Value::List(items) => items.into_iter().try_for_each(|item| merge(merged, item)),
        _ => Err(YamlError { line: node.line, message: "`<<` takes a map or a list of maps".to_owned() }),
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" if style == ScalarStyle::Plain => Value::Null,
        _ => Value::Scalar(text.to_owned()),
    }
}

fn size(node: &Node) -> usize {
    match &node.value {
        Value::Null | Value::Scalar(_) => 1,
        Value::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Map(pairs) => 1 + pairs.iter().map(|pair| size(&pair.node)).sum::<usize>(),
    }
}

fn fault(at: Marker, message: &str) -> YamlError {
    YamlError { line: at.line(), message: message.to_owned() }
}
