//! helm and kustomize as programs, and the comparison of what they render.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use testplatform_engines::Engines;

/// Annotation by which `helm uninstall` leaves an object. kustomize has no use for it.
const RESOURCE_POLICY: &str = "/metadata/annotations/helm.sh~1resource-policy";
/// ConfigMap with a name that ends with a digest of its content.
const CONFIG: &str = "provider-testplatform-config";

/// A chart of this repository.
#[derive(Clone, Copy, Debug)]
pub enum Chart {
    /// Of a Konflux cluster.
    Konflux,
    /// Of a hub.
    Hub,
}

impl Chart {
    pub fn name(self) -> &'static str {
        match self {
            Self::Konflux => "testplatform",
            Self::Hub => "testplatform-hub",
        }
    }

    pub fn directory(self) -> PathBuf {
        repository_path("package/charts").join(self.name())
    }

    /// Overlays that have a file of values.
    pub fn overlays(self) -> &'static [&'static str] {
        match self {
            Self::Konflux => &["konflux", "development"],
            Self::Hub => &[],
        }
    }
}

pub fn repository_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// A program from the cache of this machine.
pub fn engine(name: &str) -> PathBuf {
    Engines::from_environment().unwrap().ensure(&[name]).unwrap().remove(name).unwrap()
}

/// Result of a program.
pub struct Output {
    pub succeeded: bool,
    pub stdout: String,
    pub stderr: String,
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output { succeeded: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs helm without the files of whoever runs the test, and without a cluster.
pub fn run_helm(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(engine("helm"));
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(variable, home.path());
    }
    run(command.args(arguments).env("KUBECONFIG", home.path().join("none")))
}

/// Runs `helm template` on a chart.
pub fn template(chart: Chart, arguments: &[String]) -> Output {
    let directory = chart.directory();
    let mut line = vec!["template", "release", directory.to_str().unwrap(), "--namespace=releases"];
    line.extend(arguments.iter().map(String::as_str));
    run_helm(&line)
}

/// The notes of a release. Helm prints them for an installation alone, which needs a cluster; here they are the data of a ConfigMap.
pub fn render_notes(chart: Chart, arguments: &[&str]) -> String {
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("templates")).unwrap();
    for file in ["Chart.yaml", "values.yaml", "values.schema.json", "templates/_helpers.tpl"] {
        fs::copy(chart.directory().join(file), copy.path().join(file)).unwrap();
    }
    let notes = fs::read_to_string(chart.directory().join("templates/NOTES.txt")).unwrap();
    let template = format!(
        "{{{{- define \"notes\" }}}}{notes}{{{{ end }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notes\n\
         data:\n  notes: {{{{ include \"notes\" . | quote }}}}\n"
    );
    fs::write(copy.path().join("templates/notes.yaml"), template).unwrap();
    let mut line = vec!["template", "release", copy.path().to_str().unwrap()];
    line.extend(arguments);
    let output = run_helm(&line);
    assert!(output.succeeded, "{}", output.stderr);
    let objects = read_objects(&output.stdout);
    objects.values().next().unwrap()["data"]["notes"].as_str().unwrap().to_owned()
}

/// Objects by kind, namespace and name.
pub type Objects = BTreeMap<String, Value>;

pub fn read_objects(text: &str) -> Objects {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let mut objects = Objects::new();
    for object in all.into_iter().filter(|object| !object.is_null()) {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (kind, version) = (&object["kind"], &object["apiVersion"]);
        let id = format!("{kind} {version} {}/{}", name("namespace"), name("name"));
        assert!(objects.insert(id.clone(), object).is_none(), "{id} is there twice");
    }
    objects
}

/// Objects that a chart renders.
pub fn render(chart: Chart, arguments: &[String]) -> Objects {
    let output = template(chart, arguments);
    assert!(output.succeeded && output.stderr.is_empty(), "{}", output.stderr);
    read_objects(&output.stdout)
}

/// Objects that kustomize renders from a directory of this repository.
pub fn kustomize(directory: &str) -> Objects {
    let output = run(Command::new(engine("kubectl")).arg("kustomize").arg(repository_path(directory)));
    assert!(output.succeeded && output.stderr.is_empty(), "{}", output.stderr);
    read_objects(&output.stdout)
}

/// Objects that kustomize renders from resources and further fields. `INSTALL` stands for `package/install`, and `FILES` for a copy of it next to
/// the kustomization: kustomize reads no file outside of its directory.
pub fn kustomize_directory(resources: &[&str], fields: &str) -> Objects {
    let directory = tempfile::tempdir().unwrap();
    let install = repository_path("package/install");
    let depth = directory.path().canonicalize().unwrap().components().count() - 1;
    let install_from_here = format!("{}{}", "../".repeat(depth), &install.to_str().unwrap()[1..]);
    let list: String = resources.iter().flat_map(|resource| ["- ", *resource, "\n"]).collect();
    let text = format!("resources:\n{list}{fields}").replace("INSTALL", &install_from_here);
    for path in resources.iter().filter_map(|resource| resource.strip_prefix("FILES/")) {
        let copy = directory.path().join(path);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(install.join(path), copy).unwrap();
    }
    fs::write(directory.path().join("kustomization.yaml"), text.replace("FILES/", "")).unwrap();
    let output = run(Command::new(engine("kubectl")).arg("kustomize").arg(directory.path()));
    assert!(output.succeeded, "{}", output.stderr);
    read_objects(&output.stdout)
}

/// Objects of rendered manifests, as a reader of YAML in Go has them: that of the API server takes more characters for line breaks than ours.
pub fn read_by_go(manifests: &str) -> Objects {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("rendered.yaml"), manifests).unwrap();
    fs::write(directory.path().join("kustomization.yaml"), "resources: [rendered.yaml]\n").unwrap();
    let output = run(Command::new(engine("kubectl")).arg("kustomize").arg(directory.path()));
    assert!(output.succeeded, "{}", output.stderr);
    read_objects(&output.stdout)
}

/// A file of values that lives as long as it.
pub struct ValuesFile(NamedTempFile);

impl ValuesFile {
    pub fn argument(&self) -> String {
        format!("--values={}", self.0.path().display())
    }
}

pub fn values_file(values: &Value) -> ValuesFile {
    let file = NamedTempFile::with_suffix(".yaml").unwrap();
    // YAML has no such characters but as escapes.
    let escape = |c: char| match c {
        '\u{7f}'..='\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    };
    fs::write(file.path(), values.to_string().chars().map(escape).collect::<String>()).unwrap();
    ValuesFile(file)
}

/// Fails unless a chart and kustomize have rendered the same objects. Helm alone has the annotation by which it leaves an object, and exactly for
/// objects that Argo CD never deletes.
pub fn assert_same_objects(helm: &Objects, kustomize: &Objects) {
    let (helm, kustomize) = (normalize(helm, true), normalize(kustomize, false));
    let names = |objects: &Objects| objects.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&helm), names(&kustomize));
    for (id, object) in &kustomize {
        assert_eq!(find_difference(&helm[id], object, ""), None, "{id}");
    }
    assert!(helm.len() > 10, "{} objects", helm.len());
}

/// The objects without the digest in a name and without comments in the provider's configuration.
fn normalize(objects: &Objects, is_helm: bool) -> Objects {
    let mut digests = objects.values().filter_map(|object| object["metadata"]["name"].as_str());
    let digest = digests.find(|name| name.starts_with(&format!("{CONFIG}-"))).map(str::to_owned);
    let normalized = objects.iter().map(|(id, object)| {
        let mut object = object.clone();
        let options = object["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].as_str();
        let is_kept = options.is_some_and(|options| options.contains("Delete=false"));
        // kustomize leaves earlier ConfigMaps too: it deletes nothing.
        let is_kept = is_kept || digest.as_ref().is_some_and(|digest| object["metadata"]["name"] == **digest);
        let policy = object.pointer(RESOURCE_POLICY).cloned();
        assert_eq!(policy, (is_helm && is_kept).then(|| json!("keep")), "{id}");
        if policy.is_some() {
            let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove("helm.sh/resource-policy");
            if annotations.is_empty() {
                object["metadata"].as_object_mut().unwrap().remove("annotations");
            }
        }
        let Some(digest) = &digest else { return (id.clone(), object) };
        if object["metadata"]["name"] == **digest {
            object["metadata"]["name"] = CONFIG.into();
            let text = object["data"]["config.yaml"].as_str().unwrap();
            object["data"]["config.yaml"] = serde_saphyr::from_str(text).unwrap();
        }
        if let Some(name) = object.pointer_mut("/spec/template/spec/volumes/0/configMap/name") {
            assert_eq!(*name, **digest);
            *name = CONFIG.into();
        }
        (id.replace(&**digest, CONFIG), object)
    });
    normalized.collect()
}

/// The first place at which two values differ.
fn find_difference(one: &Value, other: &Value, place: &str) -> Option<String> {
    let keys: BTreeSet<String> = match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.keys().chain(other.keys()).cloned().collect(),
        (Value::Array(one), Value::Array(other)) => {
            (0..one.len().max(other.len())).map(|index| index.to_string()).collect()
        }
        _ => return (one != other).then(|| format!("{place}: {one}, and {other}")),
    };
    let null = Value::Null;
    keys.iter().find_map(|key| {
        let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let [one, other] = [one, other].map(|value| value.pointer(&pointer).unwrap_or(&null));
        find_difference(one, other, &format!("{place}{pointer}"))
    })
}

/// Every file below a directory, by its path there.
pub fn list_files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(list_files(&path).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.insert(name);
        }
    }
    found
}

/// The comparison sees a missing field, another value and another length.
#[test]
fn differences_are_found() {
    let one = json!({ "a": [1, { "b/c": "x" }], "d": null });
    assert_eq!(find_difference(&one, &one, ""), None);
    for (other, place) in [
        (json!({ "a": [1, { "b/c": "y" }] }), "/a/1/b~1c: \"x\", and \"y\""),
        (json!({ "a": [1] }), "/a/1: {\"b/c\":\"x\"}, and null"),
        (json!({ "a": [1, { "b/c": "x" }], "e": 0 }), "/e: null, and 0"),
    ] {
        assert_eq!(find_difference(&one, &other, "").as_deref(), Some(place));
    }
}
