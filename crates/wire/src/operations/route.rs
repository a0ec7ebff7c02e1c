//! Finds the operation of an HTTP method and path, without allocating.
//!
//! Each method has a tree of its own, because `GET /v2/storage/delete` lists a collection while `PUT` on the same path
//! deletes objects.

use std::sync::LazyLock;

use super::{Binding, Method, OPERATIONS, Operation};

/// Most parameters of a path.
const PATH_PARAMETERS_MAX: usize = 2;

/// The binding that an HTTP request fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match<'p> {
    /// The operation of the request.
    pub operation: Operation,
    /// The binding that the request fits.
    pub binding: &'static Binding,
    /// The path's parameters.
    pub parameters: PathParameters<'p>,
}

/// The path's parameters in the order of the template, still percent-encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathParameters<'p> {
    values: [&'p str; PATH_PARAMETERS_MAX],
    len: usize,
}

/// The reason why a request fits no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The path exists with other methods only (code 12, HTTP 501).
    #[error("this path exists, but not with this method")]
    WrongMethod,
    /// The path does not exist (code 5, HTTP 404).
    #[error("no such path")]
    NotFound,
}

impl<'p> PathParameters<'p> {
    /// The values, still percent-encoded.
    #[must_use]
    pub fn as_slice(&self) -> &[&'p str] {
        &self.values[..self.len]
    }
}

/// Finds the operation of a request. `path` does not include the query.
///
/// # Errors
/// [`RouteError`] tells whether the path does not exist, or only the method is wrong.
pub fn route<'p>(method: &str, path: &'p str) -> Result<Match<'p>, RouteError> {
    let segments = path.strip_prefix('/').ok_or(RouteError::NotFound)?;
    let method = Method::from_name(method);
    if let Some(found) = method.and_then(|method| TREES[method as usize].find(segments)) {
        return Ok(found);
    }
    let elsewhere = TREES.iter().any(|tree| tree.find(segments).is_some());
    Err(if elsewhere { RouteError::WrongMethod } else { RouteError::NotFound })
}

static TREES: LazyLock<[Tree; Method::ALL.len()]> = LazyLock::new(|| Method::ALL.map(Tree::build));

/// The paths of one method. Nodes refer to each other by index; the first node is the root.
struct Tree {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    literals: Vec<(&'static str, usize)>,
    parameter: Option<usize>,
    binding: Option<&'static Binding>,
}

impl Tree {
    fn build(method: Method) -> Self {
        let mut tree = Self { nodes: vec![Node::default()] };
        for binding in OPERATIONS.iter().flat_map(|row| row.bindings).filter(|binding| binding.method == method) {
            let mut node = 0;
            for segment in binding.template.split('/').skip(1) {
                node = tree.child(node, segment);
            }
            tree.nodes[node].binding = Some(binding);
        }
        tree
    }

    /// The child of a node for a segment of a template. A missing child is created.
    fn child(&mut self, node: usize, segment: &'static str) -> usize {
        let new = self.nodes.len();
        let parent = &mut self.nodes[node];
        let child = if segment.starts_with('{') {
            *parent.parameter.get_or_insert(new)
        } else if let Some((_, child)) = parent.literals.iter().find(|(literal, _)| *literal == segment) {
            *child
        } else {
            parent.literals.push((segment, new));
            new
        };
        if child == new {
            self.nodes.push(Node::default());
        }
        child
    }

    fn find<'p>(&self, segments: &'p str) -> Option<Match<'p>> {
        let mut parameters = PathParameters::default();
        let binding = self.find_below(&self.nodes[0], Some(segments), &mut parameters)?;
        Some(Match { operation: binding.operation, binding, parameters })
    }

    /// Finds the binding below a node. Literal segments come first; if they lead to no binding, the parameter is tried.
    /// The recursion is as deep as the longest template at most.
    fn find_below<'p>(
        &self,
        node: &Node,
        segments: Option<&'p str>,
        parameters: &mut PathParameters<'p>,
    ) -> Option<&'static Binding> {
        let Some(segments) = segments else { return node.binding };
        let (segment, rest) = match segments.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (segments, None),
        };
        let literal = node.literals.iter().find(|(literal, _)| *literal == segment);
        if let Some((_, child)) = literal
            && let Some(binding) = self.find_below(&self.nodes[*child], rest, parameters)
        {
            return Some(binding);
        }
        let child = node.parameter?;
        let len = parameters.len;
        *parameters.values.get_mut(len)? = segment;
        parameters.len += 1;
        let found = self.find_below(&self.nodes[child], rest, parameters);
        if found.is_none() {
            parameters.len = len;
        }
        found
    }
}
