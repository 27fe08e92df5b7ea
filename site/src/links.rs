//! Links from pages to files outside the book. The site has copies of these files, so no link leaves it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext, book::Book, errors::Result};

/// Folder of the copies in the site.
const COPIES: &str = "source";

/// Files and folders of the repository that pages refer to.
#[derive(Clone, Default)]
pub struct Sources(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Sources {
    fn add_file(&self, path: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    }

    /// Copies all of them. A folder becomes a list of its files.
    pub fn copy_all(&self, repository: &Path, site: &Path) -> anyhow::Result<()> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for path in all {
            if !repository.join(&path).is_dir() {
                copy_file(repository, site, &path)?;
                continue;
            }
            let mut names = Vec::new();
            for entry in fs::read_dir(repository.join(&path))? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    names.push(entry.file_name().to_string_lossy().into_owned());
                }
            }
            names.sort();
            let mut list =
                format!("<!DOCTYPE html>\n<title>{0}</title>\n<h1>{0}</h1>\n<ul>\n", path.display());
            for name in names {
                copy_file(repository, site, &path.join(&name))?;
                list.push_str(&format!("<li><a href=\"{}\">{name}</a></li>\n", copy_name(&name)));
            }
            list.push_str("</ul>\n");
            write_file(&site.join(COPIES).join(&path).join("index.html"), list.as_bytes())?;
        }
        Ok(())
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Browsers show text, and would save other files. mdBook takes every link with `.md` in it for a page.
fn copy_name(name: &str) -> String {
    if name.ends_with(".svg") { name.to_owned() } else { format!("{}.txt", name.trim_end_matches(".md")) }
}

fn copy_file(repository: &Path, site: &Path, path: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(repository.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
    write_file(&site.join(COPIES).join(copy_name(&path.to_string_lossy())), &bytes)
}

/// Makes links to files outside the book lead to their copies.
pub struct SourceLinks {
    repository: PathBuf,
    sources: Sources,
}

impl SourceLinks {
    /// Records in `sources` which copies the site needs.
    pub fn new(repository: &Path, sources: &Sources) -> Self {
        Self { repository: repository.to_owned(), sources: sources.clone() }
    }

    /// The target of a link in a page, whose path starts at `docs/`, as the site has it.
    fn link_target(&self, page: &Path, target: &str) -> String {
        if target.is_empty() || target.starts_with('#') || target.contains(':') {
            return target.to_owned();
        }
        let (file, anchor) =
            target.split_once('#').map_or((target, String::new()), |(file, a)| (file, format!("#{a}")));
        let folder = page.parent().unwrap_or(Path::new(""));
        let Some(path) = resolve_path(&Path::new("docs").join(folder).join(file)) else {
            return target.to_owned();
        };
        if path.starts_with("docs") {
            // mdBook renders README.md as index.html.
            return match file.strip_suffix("README.md") {
                Some(folder) => format!("{folder}index.md{anchor}"),
                None => target.to_owned(),
            };
        }
        let up = "../".repeat(folder.components().count());
        let copy = if self.repository.join(&path).is_dir() {
            format!("{}/index.html", path.display())
        } else {
            copy_name(&path.to_string_lossy())
        };
        self.sources.add_file(path);
        format!("{up}{COPIES}/{copy}")
    }

    /// A page with the links of the site. Blocks of code stay as they are.
    fn rewrite_links(&self, page: &Path, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut code = false;
        for line in text.split_inclusive('\n') {
            code ^= line.trim_start().starts_with("```");
            if code {
                out.push_str(line);
                continue;
            }
            let mut rest = line;
            while let Some((before, after)) = rest.split_once("](") {
                let Some((target, after)) = after.split_once(')') else { break };
                out.push_str(before);
                out.push_str(&format!("]({})", self.link_target(page, target)));
                rest = after;
            }
            out.push_str(rest);
        }
        out
    }
}

impl Preprocessor for SourceLinks {
    fn name(&self) -> &str {
        "source-links"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_chapter_mut(|chapter| {
            if let Some(page) = chapter.source_path.clone() {
                chapter.content = self.rewrite_links(&page, &chapter.content);
            }
        });
        Ok(book)
    }
}

/// A path without `..`. None: it leads out of the repository.
pub fn resolve_path(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_copies() {
        let links = SourceLinks::new(&crate::repository_root(), &Sources::default());
        let page = Path::new("how-to/hub.md");
        let target = |target: &str| links.link_target(page, target);
        assert_eq!(target("../../package/install/hub"), "../source/package/install/hub/index.html");
        assert_eq!(target("../../SECRETS.md"), "../source/SECRETS.txt");
        for same in ["#here", "https://example.com/a.md", "rotate.md#x", "../architecture.md"] {
            assert_eq!(target(same), same);
        }
        assert_eq!(target("../upstream/README.md#x"), "../upstream/index.md#x");
    }

    #[test]
    fn code_keeps_its_text() {
        let links = SourceLinks::new(&crate::repository_root(), &Sources::default());
        let text = "[a](../CHANGELOG.md) [b](../LICENSE)\n```\n[a](../CHANGELOG.md)\n```\n";
        let out = links.rewrite_links(Path::new("index.md"), text);
        assert_eq!(
            out,
            "[a](source/CHANGELOG.txt) [b](source/LICENSE.txt)\n```\n[a](../CHANGELOG.md)\n```\n"
        );
    }
}
