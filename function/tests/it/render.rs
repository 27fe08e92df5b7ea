//! `render` as a program: exit codes, and what it says when the files do not fit.

#![allow(clippy::needless_raw_string_hashes, reason = "snapbox writes what is expected in this form")]

use std::{fs, path::Path};

use snapbox::{
    Assert, IntoData as _, Redactions,
    cmd::{Command, OutputAssert},
    str,
};

const COMPOSITION: &str = "package/compositions/testplatform-ephemeral-cluster.yaml";
const CLAIM: &str = "examples/minimal/claim.yaml";
const ENVIRONMENT: &str = "examples/minimal/environment.yaml";

/// A directory with the files of one case, and the program run at the top of the repository.
struct Case {
    directory: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn render(&self, args: &[&str]) -> OutputAssert {
        let mut redactions = Redactions::new();
        redactions.insert("[DIR]", self.directory.path().to_str().unwrap().to_owned()).unwrap();
        Command::new(env!("CARGO_BIN_EXE_function-testplatform"))
            .with_assert(Assert::new().redact_with(redactions))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env_remove("DEBUG")
            .arg("render")
            .args(args)
            .assert()
    }

    /// The composition that users install, with something changed.
    fn composition(&self, change: impl Fn(String) -> String) -> String {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(COMPOSITION));
        self.file("composition.yaml", &change(text.unwrap()))
    }
}

fn printed(output: &OutputAssert) -> String {
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[test]
fn valid_input_is_rendered_without_notes() {
    let output = Case::new().render(&[CLAIM, COMPOSITION, "-e", ENVIRONMENT]).code(0).stderr_eq(str![]);
    let printed = printed(&output);
    assert!(printed.starts_with("---\napiVersion: ci.openshift.org/v1alpha1\n"), "{printed}");
    assert_eq!(printed.matches("\n---\n").count(), 2, "{printed}");
}

/// Settings of serving, and variables of other programs under the same names.
#[test]
fn render_ignores_variables_of_serving() {
    let run = |environment: &[(&str, &str)]| {
        Command::new(env!("CARGO_BIN_EXE_function-testplatform"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env_remove("DEBUG")
            .envs(environment.iter().copied())
            .args([
                "--log-format",
                "text",
                "render",
                CLAIM,
                COMPOSITION,
                "-e",
                ENVIRONMENT,
                "--now",
                "2026-03-02T11:05:12Z",
            ])
            .assert()
            .code(0)
    };
    let others = [
        ("NETWORK", "bridge"),
        ("ADDRESS", "10 Main St"),
        ("TTL", "soon"),
        ("DEBUG", "*"),
        ("LOG_FORMAT", "x"),
    ];
    assert_eq!(printed(&run(&others)), printed(&run(&[])));
}

#[test]
fn files_that_are_not_there() {
    let case = Case::new();
    case.render(&["nowhere.yaml", COMPOSITION]).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot read nowhere.yaml: No such file or directory (os error 2)

"#]]);
    case.render(&[CLAIM, COMPOSITION, "-o", "nowhere"]).code(1).stderr_eq(str![[r#"
error: cannot read nowhere: No such file or directory (os error 2)

"#]]);
}

#[test]
fn yaml_errors_have_line_and_column_and_type_errors_their_field() {
    let case = Case::new();
    let twice = case.file("twice.yaml", "apiVersion: v1\nkind: A\nkind: B\n");
    case.render(&[&twice, COMPOSITION]).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: [DIR]/twice.yaml:3:1: duplicate mapping key `kind` is not allowed here

"#]]);
    let shape = case.composition(|text| text.replace("  pipeline:\n", "  pipeline: none\n  other:\n"));
    case.render(&[CLAIM, &shape]).code(1).stderr_eq(str![[r#"
error: [DIR]/composition.yaml: spec.pipeline: expected a sequence, found a string

"#]]);
}

#[test]
fn files_that_are_something_else() {
    let case = Case::new();
    case.render(&[CLAIM, CLAIM]).code(1).stderr_eq(str![[r#"
error: examples/minimal/claim.yaml: kind is TestPlatformCluster, expected Composition

"#]]);
    case.render(&[ENVIRONMENT, COMPOSITION]).code(1).stderr_eq(str![[r#"
error: examples/minimal/environment.yaml: kind is EnvironmentConfig of apiextensions.crossplane.io/v1beta1, but package/compositions/testplatform-ephemeral-cluster.yaml is for XTestPlatformCluster or its claim TestPlatformCluster of ci.openshift.org/v1alpha1

"#]]);
    let two = case.file("two.yaml", "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n");
    case.render(&[&two, COMPOSITION]).code(1).stderr_eq(str![[r#"
error: [DIR]/two.yaml: holds 2 objects instead of one

"#]]);
    let bare = case.file("bare.yaml", "kind: A\n");
    case.render(&[&bare, COMPOSITION]).code(1).stderr_eq(str![[r#"
error: [DIR]/bare.yaml: a document has no apiVersion or no kind

"#]]);
    let mode = case.composition(|text| text.replace("mode: Pipeline", "mode: Resources"));
    case.render(&[CLAIM, &mode]).code(1).stderr_eq(str![[r#"
error: [DIR]/composition.yaml: spec.mode is Resources; only Pipeline can be rendered

"#]]);
}

#[test]
fn steps_of_other_functions_are_skipped_visibly() {
    let case = Case::new();
    let more = case
        .composition(|text| text + "  - step: ready\n    functionRef:\n      name: function-auto-ready\n");
    case.render(&[CLAIM, &more, "-e", ENVIRONMENT]).code(0).stderr_eq(str![[r#"
note: pipeline step "ready" is skipped: its function "function-auto-ready" is not this one

"#]]);
    let none = case.composition(|text| text.replace("function-testplatform", "function-other"));
    case.render(&[CLAIM, &none]).code(1).stderr_eq(str![[r#"
error: [DIR]/composition.yaml: no pipeline step runs function-testplatform

"#]]);
}

#[test]
fn functions_file_names_our_steps() {
    let case = Case::new();
    let function = |name: &str| {
        format!(
            "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: {name}\nspec:\n  \
             package: registry.example/team/function-testplatform:v1\n"
        )
    };
    let renamed = case.composition(|text| text.replace("name: function-testplatform", "name: clusters"));
    let functions = case.file("functions.yaml", &function("clusters"));
    case.render(&[CLAIM, &renamed, &functions, "-e", ENVIRONMENT]).code(0).stderr_eq(str![]);
    case.render(&[CLAIM, COMPOSITION, &functions]).code(1).stderr_eq(str![[r#"
error: pipeline step "testplatform" runs Function "function-testplatform", which is not in [DIR]/functions.yaml

"#]]);
}

#[test]
fn observed_resources_must_be_known_to_their_composite() {
    let case = Case::new();
    let object = "apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata:\n  name: x\n";
    let unknown = case.file("unknown.yaml", object);
    case.render(&[CLAIM, COMPOSITION, "-o", &unknown]).code(1).stderr_eq(str![[r#"
error: [DIR]/unknown.yaml: Object x has no annotation crossplane.io/composition-resource-name, which tells what it is to its composite

"#]]);
    let secret = case.file("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n");
    case.render(&[CLAIM, COMPOSITION, "-o", &secret, "-e", ENVIRONMENT]).code(0).stderr_eq(str![[r#"
note: Secret s is the connection secret of nothing here

"#]]);
}

/// A resource that a newer version made: the function refuses to touch anything.
#[test]
fn a_refusal_is_exit_code_3_and_prints_no_resources() {
    let case = Case::new();
    let newer = case.file(
        "newer.yaml",
        "apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata:\n  name: x\n  annotations:\n    \
         crossplane.io/composition-resource-name: shiny\n  labels:\n    \
         testplatform.ci.openshift.org/component: shiny\n",
    );
    let args = [CLAIM, COMPOSITION, "-o", &newer, "-r", "--explain"];
    case.render(&args).code(3).stdout_eq(str![[r#"
# fatal: composed resource "shiny" was made by a newer version of this function, and this version would destroy it; nothing is changed. Go back to the newer version
---
apiVersion: render.crossplane.io/v1beta1
kind: Result
message: composed resource "shiny" was made by a newer version of this function, and this version would destroy it; nothing is changed. Go back to the newer version
reason: NewerVersion
severity: SEVERITY_FATAL
step: testplatform

"#]]).stderr_eq(str![[r#"
error: pipeline step "testplatform" returned a fatal result: composed resource "shiny" was made by a newer version of this function, and this version would destroy it; nothing is changed. Go back to the newer version

"#]]);
}

#[test]
fn credentials_of_a_step_must_be_given() {
    let case = Case::new();
    let needs = case.composition(|text| {
        text.replace(
            "    requirements:",
            "    credentials:\n    - name: hub\n      source: Secret\n      secretRef:\n        namespace: a\n        \
             name: b\n    requirements:",
        )
    });
    case.render(&[CLAIM, &needs]).code(1).stderr_eq(str![[r#"
error: pipeline step "testplatform" needs Secret a/b as credentials "hub"; give it with --function-credentials

"#]]);
    let secret = case.file(
        "secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: a\n  name: b\nstringData:\n  k: v\n",
    );
    let args = [CLAIM, &needs, "-e", ENVIRONMENT, "--function-credentials", &secret];
    case.render(&args).code(0).stderr_eq(str![]);
}

#[test]
fn the_environment_is_found_without_bootstrap_too() {
    let case = Case::new();
    let dynamic = case.composition(|text| text[..text.find("    requirements:").unwrap()].to_owned());
    let output = case.render(&[CLAIM, &dynamic, "-e", ENVIRONMENT]).code(0).stderr_eq(str![]);
    let with = printed(&output);
    let output = case.render(&[CLAIM, COMPOSITION, "--extra-resources", ENVIRONMENT]).code(0);
    // All but the times, which are the clock's.
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|l| !l.contains("startedAt")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&with), lines(&printed(&output)));
    assert!(with.contains("konflux-example"), "{with}");
}

#[test]
fn the_context_is_passed_on_and_printed() {
    let case = Case::new();
    let file = case.file("value.yaml", "from: file\n");
    let output = case.render(&[
        CLAIM,
        COMPOSITION,
        "-c",
        "--context-files",
        &format!("a={file}"),
        "--context-files",
        &format!("b={file}"),
        "--context-values",
        "b={from: value}",
    ]);
    let printed = printed(&output.code(0).stderr_eq(str![]));
    let context = &printed[printed.rfind("---\n").unwrap()..];
    snapbox::assert_data_eq!(
        context,
        str![[r#"
---
apiVersion: render.crossplane.io/v1beta1
fields:
  a:
    from: file
  b:
    from: value
kind: Context

"#]]
        .raw()
    );
}

#[test]
fn full_composite_follows_from_the_claim() {
    let output = Case::new().render(&[CLAIM, COMPOSITION, "-e", ENVIRONMENT, "-x"]).code(0);
    let printed = printed(&output);
    let composite = &printed[..printed.find("status:").unwrap()];
    snapbox::assert_data_eq!(
        composite,
        str![[r#"
---
apiVersion: ci.openshift.org/v1alpha1
kind: XTestPlatformCluster
metadata:
  labels:
    crossplane.io/claim-name: demo
    crossplane.io/claim-namespace: team-a
    crossplane.io/composite: demo-5w29s
  name: demo-5w29s
spec:
  ciOperator:
    releases:
      latest:
        integration:
          name: "4.20"
          namespace: ocp
    test:
      clusterProfile: aws
      workflow: ipi-aws
  claimRef:
    apiVersion: ci.openshift.org/v1alpha1
    kind: TestPlatformCluster
    name: demo
    namespace: team-a

"#]]
        .raw()
    );
}

#[test]
fn xrd_maps_claims_to_composites() {
    const XRD: &str = "package/xrds/xtestplatformclusters.ci.openshift.org.yaml";
    let case = Case::new();
    let args = [CLAIM, COMPOSITION, "-e", ENVIRONMENT, "--xrd", XRD];
    case.render(&args).code(0).stderr_eq(str![]);
    let other = case.composition(|text| text.replace("kind: XTestPlatformCluster", "kind: XOther"));
    case.render(&[CLAIM, &other, "--xrd", XRD]).code(1).stderr_eq(str![[r#"
error: package/xrds/xtestplatformclusters.ci.openshift.org.yaml: does not define XOther of ci.openshift.org/v1alpha1

"#]]);
}

/// `kubectl get -o yaml` prints several objects as one List; other files of the directory are not looked at.
#[test]
fn observed_resources_come_from_lists_and_directories() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let observed = fs::read_to_string(top.join("examples/ready/observed.yaml")).unwrap();
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&observed).unwrap();
    let case = Case::new();
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": documents });
    // JSON is YAML.
    case.file("list.yml", &list.to_string());
    case.file("notes.txt", "{");
    let args = |observed| {
        let claim = "examples/ready/claim.yaml";
        [claim, COMPOSITION, "-e", ENVIRONMENT, "-o", observed, "--now", "2026-03-02T12:00:00Z"]
    };
    let from_list = case.render(&args(case.directory.path().to_str().unwrap())).code(0).stderr_eq(str![]);
    let from_file = case.render(&args("examples/ready/observed.yaml")).code(0).stderr_eq(str![]);
    assert_eq!(printed(&from_list), printed(&from_file));
    assert!(printed(&from_list).contains("phase: Ready"));
}

#[test]
fn command_lines_that_mean_nothing_are_refused() {
    let case = Case::new();
    for args in [
        &[CLAIM][..],
        &[CLAIM, COMPOSITION, "--crossplane-version", "v2.3.4"],
        &[CLAIM, COMPOSITION, "--now", "tomorrow"],
        &[CLAIM, COMPOSITION, "--context-values", "novalue"],
    ] {
        case.render(args).code(2).stdout_eq(str![]);
    }
}

/// The best of several: what the machine does beside it is not measured.
#[test]
fn the_first_example_is_rendered_within_50_milliseconds() {
    let case = Case::new();
    let fast = (0..30).any(|_| {
        let start = std::time::Instant::now();
        case.render(&[CLAIM, COMPOSITION, "-e", ENVIRONMENT, "--explain"]).code(0);
        start.elapsed() < std::time::Duration::from_millis(50)
    });
    assert!(fast, "30 runs took longer than 50 ms each");
}
