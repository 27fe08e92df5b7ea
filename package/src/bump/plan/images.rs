//! Digests of images.

use crate::bump::image::{self, Image};
use crate::bump::kustomization::Kustomization;
use crate::bump::layout::Selection;
use crate::bump::{Overlay, Problem, Request, Tree, text};

/// The text of a kustomization with the requested digests.
pub fn set_digests(path: &str, mut text: String, request: &Request) -> Result<String, Problem> {
    for wanted in &request.images {
        let file = Kustomization::read(path, text.as_bytes())?;
        if !image::is_set(&file.value, wanted) {
            continue;
        }
        if let Some(splice) = image::digest_splice(path, &text, &file.value, wanted)? {
            text = text::apply_splices(&text, vec![splice]);
            let after = Kustomization::read(path, text.as_bytes())?;
            if image::digest_splice(path, &text, &after.value, wanted)?.is_some() {
                let what = format!("{} is set more than once", wanted.name);
                return Err(Problem::new(path, what, "edit it by hand").at_line(1));
            }
        }
    }
    Ok(text)
}

/// Images that no overlay in scope sets, or that an overlay shared with clusters outside the scope sets.
pub fn unset_images(work: &Tree, request: &Request, selection: &Selection) -> Vec<Problem> {
    let sets = |overlay: &Overlay, wanted: &Image| {
        let bytes = work.get(&overlay.kustomization).unwrap_or_default();
        Kustomization::read(&overlay.kustomization, bytes)
            .is_ok_and(|file| image::is_set(&file.value, wanted))
    };
    let mut problems = Vec::new();
    for wanted in &request.images {
        if selection.overlays.iter().any(|overlay| sets(overlay, wanted)) {
            continue;
        }
        let shared = selection.out_of_reach.iter().find(|overlay| sets(overlay, wanted));
        let (file, help) = match shared {
            Some(overlay) => (overlay.kustomization.clone(), "bump all clusters that share it (--ring all)"),
            None => ("--image".to_owned(), "check the name"),
        };
        problems.push(Problem::new(file, format!("{} is set by nothing in scope", wanted.name), help));
    }
    problems
}
