//! Checks that every link in the site leads to a file of it, and every fragment to an element.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::links::resolve_path;

/// Result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// Pages that were read.
    pub pages: usize,
    /// Links within the site.
    pub links: usize,
    /// Links that lead nowhere: page and target.
    pub dead: Vec<String>,
}

/// Checks all pages below a folder.
pub fn check_links(site: &Path) -> anyhow::Result<Report> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![site.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let name = path.strip_prefix(site)?.to_owned();
                pages.insert(name, fs::read_to_string(&path)?);
            }
        }
    }
    let ids: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(name, text)| (name.as_path(), values(text, "id").collect())).collect();
    let mut report = Report { pages: pages.len(), ..Report::default() };
    for (page, text) in &pages {
        for link in values(text, "href").chain(values(text, "src")) {
            if link.is_empty() || link.contains(':') || link.starts_with("//") {
                continue;
            }
            report.links += 1;
            if !leads_somewhere(site, page, link, &ids) {
                report.dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(report)
}

fn leads_somewhere(site: &Path, page: &Path, link: &str, ids: &BTreeMap<&Path, BTreeSet<&str>>) -> bool {
    let (file, fragment) = link.split_once('#').map_or((link, ""), |(file, fragment)| (file, fragment));
    let path = if file.is_empty() {
        Some(page.to_owned())
    } else {
        resolve_path(&page.parent().unwrap_or(Path::new("")).join(file))
    };
    let Some(path): Option<PathBuf> = path else { return false };
    if !site.join(&path).is_file() {
        return false;
    }
    fragment.is_empty() || ids.get(path.as_path()).is_none_or(|ids| ids.contains(fragment))
}

/// The values of an attribute.
fn values<'t>(text: &'t str, attribute: &str) -> impl Iterator<Item = &'t str> {
    let mark = format!(" {attribute}=\"");
    let starts: Vec<usize> = text.match_indices(&mark).map(|(at, mark)| at + mark.len()).collect();
    starts.into_iter().filter_map(|start| text[start..].split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_named() {
        let site = std::env::temp_dir().join(format!("testplatform-site-{}", std::process::id()));
        fs::create_dir_all(site.join("b")).unwrap();
        let links = [
            "b/c.html",
            "b/c.html#there",
            "#here",
            "https://example.com",
            "b/none.html",
            "b/c.html#gone",
            "../out.html",
            "#nowhere",
        ];
        let links: String = links.iter().map(|link| format!("<a href=\"{link}\">x</a>\n")).collect();
        fs::write(site.join("a.html"), format!("<h1 id=\"here\"></h1>{links}")).unwrap();
        fs::write(site.join("b/c.html"), "<h1 id=\"there\"></h1><img src=\"../none.svg\">").unwrap();
        let report = check_links(&site).unwrap();
        fs::remove_dir_all(&site).unwrap();
        assert_eq!((report.pages, report.links), (2, 8));
        let dead = [
            "a.html: b/none.html",
            "a.html: b/c.html#gone",
            "a.html: ../out.html",
            "a.html: #nowhere",
            "b/c.html: ../none.svg",
        ];
        assert_eq!(report.dead, dead);
    }
}
