//! Names of our packages and programs, and of the objects that Crossplane core makes for packages.

/// The function: name of its package, its program and the Function object that the Compositions reference.
pub const FUNCTION: &str = "function-testplatform";
/// The provider: name of its image and of its program.
pub const PROVIDER: &str = "provider-testplatform";
/// The kubectl plugin: name of its program, which is in no image.
pub const PLUGIN: &str = "kubectl-testplatform";
/// The Configuration: name of its package.
pub const CONFIGURATION: &str = "configuration-testplatform";

/// Core's name for the Function object of an installed dependency: the repository without its registry, as a DNS label.
pub fn dependency_name(repository: &str) -> String {
    let path = repository.split_once('/').map_or(repository, |(_, path)| path);
    let mut name: String = path
        .chars()
        .take(63)
        .filter_map(|char| match char {
            'a'..='z' | '0'..='9' => Some(char),
            '.' | '/' | ':' | '-' => Some('-'),
            _ => None,
        })
        .collect();
    name.truncate(name.trim_end_matches('-').len());
    name.trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_dependencies_follow_core() {
        for (repository, name) in [
            ("xpkg.example.org/a/function-b", "a-function-b"),
            ("localhost:5000/function-b", "function-b"),
            ("r.example/A_b.c/-d-", "b-c--d"),
        ] {
            assert_eq!(dependency_name(repository), name);
        }
        assert_eq!(dependency_name(&format!("r.example/{}", "a".repeat(80))).len(), 63);
    }
}
