//! Turns one file of JavaScript or TypeScript into code that QuickJS runs. Types are left out; enums, namespaces and
//! parameter properties of TypeScript become JavaScript. Types are never checked: that is the job of `tsc`.

use std::path::{Path, PathBuf};

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingPattern, Program, Statement, StringLiteral};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::{SourceType, Span};
use oxc_transformer::{TransformOptions, Transformer};

use super::places::{PlaceMap, place_in};
use crate::machine::LoadError;

/// Limit on the bytes of a file that is compiled. Larger files of TypeScript are refused; larger files of JavaScript
/// are run unchanged, so nothing that they import is found.
pub(super) const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Limit on the nesting of brackets. Files with more are treated as too large, since the parser recurses into each
/// bracket.
const BRACKETS_MAX: usize = 10_000;

/// The name of a script's function that registers all others.
const INIT_MODULE: &str = "InitModule";

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    /// A module if the file imports or exports, else a script.
    JavaScript,
    /// JavaScript that is always a module.
    Module,
    TypeScript,
    Json,
}

impl SourceLanguage {
    /// The language by a file's ending. Unknown endings mean JavaScript.
    pub(super) fn of(file: &str) -> Self {
        match Path::new(file).extension().and_then(|extension| extension.to_str()) {
            Some("ts" | "mts") => Self::TypeScript,
            Some("mjs") => Self::Module,
            Some("json") => Self::Json,
            _ => Self::JavaScript,
        }
    }
}

/// An import of another file.
pub(super) struct Import {
    /// The other file's name as it is written.
    pub(super) name: String,
    /// Line and column of the name.
    pub(super) place: String,
}

/// A file as QuickJS runs it.
pub(super) struct Compiled {
    pub(super) text: Vec<u8>,
    pub(super) is_module: bool,
    pub(super) imports: Vec<Import>,
    /// Maps places of the text to the author's file; `None` if they are the same.
    pub(super) places: Option<PlaceMap>,
}

/// Compiles a file.
///
/// # Errors
/// For TypeScript and JSON that cannot be parsed, with file, line and column.
pub(super) fn compile(file: &str, text: Vec<u8>, is_entry: bool) -> Result<Compiled, LoadError> {
    let plain = |text: Vec<u8>, is_module| Compiled { text, is_module, imports: Vec::new(), places: None };
    let language = SourceLanguage::of(file);
    match language {
        SourceLanguage::Json => return json(file, &text).map(|text| plain(text, true)),
        SourceLanguage::JavaScript if !mentions_modules(&text) => return Ok(plain(text, false)),
        _ => {}
    }
    let Ok(source) = std::str::from_utf8(&text) else {
        return Err(LoadError(format!("{file}: the file is no UTF-8")));
    };
    let is_too_large = source.len() > COMPILED_BYTES_MAX || depth(source) > BRACKETS_MAX;
    match language {
        // The output of bundlers needs no compiling: it is a script unless its name says otherwise.
        SourceLanguage::JavaScript | SourceLanguage::Module if is_too_large => {
            Ok(plain(text, language == SourceLanguage::Module))
        }
        _ if is_too_large => Err(LoadError(format!(
            "{file}: the file has more than {COMPILED_BYTES_MAX} bytes, or more than {BRACKETS_MAX} brackets within each other"
        ))),
        SourceLanguage::TypeScript => typescript(file, source, is_entry),
        _ => Ok(javascript(source, language == SourceLanguage::Module, is_entry)),
    }
}

/// Whether the text contains a word that a module needs.
fn mentions_modules(text: &[u8]) -> bool {
    [&b"import"[..], &b"export"[..]].iter().any(|word| text.windows(word.len()).any(|window| window == *word))
}

/// Greatest nesting of brackets, counting those in texts and comments too.
fn depth(text: &str) -> usize {
    let mut most = 0;
    let mut depth = 0_usize;
    for letter in text.bytes() {
        match letter {
            b'(' | b'[' | b'{' => {
                depth += 1;
                most = most.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn json(file: &str, text: &[u8]) -> Result<Vec<u8>, LoadError> {
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| LoadError(format!("{file}:{}:{}: SyntaxError: {error}", error.line(), error.column())))?;
    // `JSON.parse` of a quoted text keeps names such as `__proto__` plain names.
    let quoted = serde_json::Value::String(value.to_string());
    Ok(format!("export default JSON.parse({quoted});").into_bytes())
}

/// Finds the imports of a file of JavaScript. Its text stays unchanged but for an added export; QuickJS reports its
/// errors.
fn javascript(source: &str, is_module: bool, is_entry: bool) -> Compiled {
    let allocator = Allocator::default();
    let kind = if is_module { SourceType::mjs() } else { SourceType::unambiguous() };
    let parsed = Parser::new(&allocator, source, kind).parse();
    let is_module = is_module || parsed.module_record.has_module_syntax;
    let mut text = source.to_owned();
    let mut imports = Vec::new();
    if is_module {
        imports = imported(source, &parsed.program);
        imports.extend(imported_later(source, parsed.module_record.dynamic_imports.iter().map(|it| it.module_request)));
        let is_exported = parsed.module_record.exported_bindings.contains_key(INIT_MODULE);
        if is_entry && !is_exported && declares_init_module(&parsed.program) {
            text.push_str(EXPORT);
        }
    }
    Compiled { text: text.into_bytes(), is_module, imports, places: None }
}

/// Text that is appended to a module which declares `InitModule` without exporting it, since bundlers accept that.
const EXPORT: &str = "\nexport { InitModule };\n";

fn typescript(file: &str, source: &str, is_entry: bool) -> Result<Compiled, LoadError> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts()).parse();
    let refused = |diagnostics: &[oxc_span::LabeledSpan], message: &str| {
        let at = diagnostics.first().map_or(0, |label| label.span().start);
        LoadError(format!("{file}:{}: SyntaxError: {message}", place_in(source, at)))
    };
    if let Some(first) = parsed.diagnostics.iter().next() {
        return Err(refused(&first.labels, &first.message));
    }
    let is_module = parsed.module_record.has_module_syntax;
    let is_exported = parsed.module_record.exported_bindings.contains_key(INIT_MODULE);
    let later: Vec<_> = parsed.module_record.dynamic_imports.iter().map(|it| it.module_request).collect();
    let mut program = parsed.program;
    let checked = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    if let Some(first) = checked.diagnostics.iter().next() {
        return Err(refused(&first.labels, &first.message));
    }
    let scoping = checked.semantic.into_scoping();
    let options = TransformOptions::default();
    let transformed = Transformer::new(&allocator, Path::new(file), &options).build_with_scoping(scoping, &mut program);
    if let Some(first) = transformed.diagnostics.iter().next() {
        return Err(refused(&first.labels, &first.message));
    }
    let options = CodegenOptions { source_map_path: Some(PathBuf::from(file)), ..CodegenOptions::default() };
    let written = Codegen::new().with_options(options).build(&program);
    let mut text = written.code;
    let mut imports = Vec::new();
    if is_module {
        imports = imported(source, &program);
        imports.extend(imported_later(source, later.into_iter()));
        if is_entry && !is_exported && declares_init_module(&program) {
            text.push_str(EXPORT);
        }
    }
    let places = written.map.map(|map| {
        PlaceMap::new(map.get_tokens().map(|token| {
            [token.get_dst_line(), token.get_dst_col(), token.get_src_line(), token.get_src_col()].map(|at| at + 1)
        }))
    });
    Ok(Compiled { text: text.into_bytes(), is_module, imports, places })
}

/// The imports behind `from`.
fn imported(source: &str, program: &Program<'_>) -> Vec<Import> {
    let named = program.body.iter().filter_map(|statement| match statement {
        Statement::ImportDeclaration(import) => Some(&import.source),
        Statement::ExportFromDeclaration(export) => Some(&export.source),
        Statement::ExportAllDeclaration(export) => Some(&export.source),
        _ => None,
    });
    let import =
        |name: &StringLiteral<'_>| Import { name: name.value.to_string(), place: place_in(source, name.span.start) };
    named.map(import).collect()
}

/// The imports by `import(…)` whose name is a literal text.
fn imported_later(source: &str, named: impl Iterator<Item = Span>) -> Vec<Import> {
    let written = named.filter_map(|span| Some((source.get(span.start as usize..span.end as usize)?, span)));
    let is_quote = |letter: char| matches!(letter, '"' | '\'');
    let plain = written.filter_map(|(text, span)| {
        let inner = text.strip_prefix(is_quote)?.strip_suffix(is_quote)?;
        // An expression of several texts is no literal name.
        let is_name = !inner.contains(is_quote);
        is_name.then(|| Import { name: inner.to_owned(), place: place_in(source, span.start) })
    });
    plain.collect()
}

fn declares_init_module(program: &Program<'_>) -> bool {
    program.body.iter().any(|statement| match statement {
        Statement::FunctionDeclaration(function) => function.id.as_ref().is_some_and(|id| id.name == INIT_MODULE),
        Statement::VariableDeclaration(variables) => variables
            .declarations
            .iter()
            .any(|declared| matches!(&declared.id, BindingPattern::BindingIdentifier(id) if id.name == INIT_MODULE)),
        _ => false,
    })
}
