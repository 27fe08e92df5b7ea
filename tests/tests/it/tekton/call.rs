//! A Task, called: its steps run one after the other, each with exactly the script and the environment that the YAML
//! gives it. A step is a process here and not a container; what is mounted is a directory.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;
use testplatform_tests::{
    nest::Process,
    patience::longer,
    tenant::{KUBECONFIG, PASSWORD},
};

use super::{
    files::{self, list, text},
    stage::Stage,
    variables::{Variables, parameters, replaced},
};

/// How long a script may take whose hub does everything at once. provider-kubernetes looks for a Secret that it missed
/// at growing distances, a minute at most.
pub const LONG: Duration = Duration::from_secs(100);
/// How long a process may live on whose script has ended.
const ORPHANED: Duration = Duration::from_secs(10);
/// How often a process or a file is looked at.
const GLANCE: Duration = Duration::from_millis(25);

/// A Task that is about to be called.
pub struct Call<'s> {
    stage: &'s Stage<'s>,
    spec: anyhow::Result<Value>,
    task_run: String,
    parameters: BTreeMap<String, String>,
    workspaces: BTreeMap<String, PathBuf>,
    kubeconfig: Value,
    path: PathBuf,
}

impl<'s> Call<'s> {
    /// A Task of ours.
    pub fn task(stage: &'s Stage<'s>, name: &str) -> Self {
        Self::spec(stage, name, files::named("Task", name).map(|mut task| task["spec"].take()))
    }

    /// A Task that is written into a Pipeline.
    pub fn spec(stage: &'s Stage<'s>, name: &str, spec: anyhow::Result<Value>) -> Self {
        Self {
            stage,
            spec,
            task_run: format!("{}-{name}", stage.tenant.name),
            parameters: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            kubeconfig: stage.kubeconfig.clone(),
            path: stage.tools.kubectl.clone(),
        }
    }

    /// Names the TaskRun.
    pub fn named(mut self, task_run: &str) -> Self {
        task_run.clone_into(&mut self.task_run);
        self
    }

    /// Gives a parameter.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.parameters.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Gives a workspace.
    pub fn workspace(mut self, name: &str, directory: &Path) -> Self {
        self.workspaces.insert(name.to_owned(), directory.to_owned());
        self
    }

    /// Leads its steps to another API server, or as somebody else.
    pub fn through(mut self, kubeconfig: Value) -> Self {
        self.kubeconfig = kubeconfig;
        self
    }

    /// Gives its steps other tools.
    pub fn tools(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Calls it and waits until it ended.
    pub async fn run(self, within: Duration) -> anyhow::Result<Ended> {
        let mut room = self.enter()?;
        let mut log = String::new();
        for step in room.steps.clone() {
            let ended = room.step(&step)?.ended(within).await?;
            log.push_str(&ended.log);
            if ended.code != 0 {
                return Ok(Ended { log, ..ended });
            }
        }
        Ok(Ended { code: 0, log, results: room.results()? })
    }

    /// Calls a Task of one step, to be watched while it runs.
    pub fn start(self) -> anyhow::Result<Running<'s>> {
        let mut room = self.enter()?;
        let steps = room.steps.clone();
        let [step] = steps.as_slice() else { bail!("{} steps, where one was expected", steps.len()) };
        room.step(step)
    }

    fn enter(self) -> anyhow::Result<Room<'s>> {
        let directory = self.stage.room()?;
        for below in ["results", "home", "tmp"] {
            fs::create_dir_all(directory.join(below))?;
        }
        let kubeconfig = directory.join("kubeconfig");
        fs::write(&kubeconfig, self.kubeconfig.to_string())?;
        fs::set_permissions(&kubeconfig, fs::Permissions::from_mode(0o600))?;
        let spec = self.spec?;
        let mut values = parameters(list(&spec, "params"), &self.parameters)?;
        values.insert("context.taskRun.name".into(), self.task_run);
        values.insert("context.taskRun.namespace".into(), self.stage.tenant.namespace.clone());
        for result in list(&spec, "results") {
            let name = text(result, "name")?;
            let path = directory.join("results").join(name).display().to_string();
            values.insert(format!("results.{name}.path"), path);
        }
        for workspace in list(&spec, "workspaces") {
            let name = text(workspace, "name")?;
            let given = self.workspaces.get(name);
            ensure!(given.is_some() || workspace["optional"] == true, "workspace {name} is required");
            let path = given.map(|d| d.display().to_string()).unwrap_or_default();
            values.insert(format!("workspaces.{name}.bound"), given.is_some().to_string());
            values.insert(format!("workspaces.{name}.path"), path);
        }
        let steps = list(&spec, "steps").to_vec();
        Ok(Room { stage: self.stage, directory, values, steps, path: self.path })
    }
}

/// Where a Task runs.
struct Room<'s> {
    stage: &'s Stage<'s>,
    directory: PathBuf,
    values: Variables,
    steps: Vec<Value>,
    path: PathBuf,
}

impl<'s> Room<'s> {
    /// Starts a step.
    fn step(&mut self, step: &Value) -> anyhow::Result<Running<'s>> {
        let name = step["name"].as_str().unwrap_or("step");
        self.results_of_steps()?;
        // A StepAction has parameters and results of its own.
        let (step, values) = match step["ref"]["name"].as_str() {
            None => (step.clone(), self.values.clone()),
            Some(action) => {
                let action = files::named("StepAction", action)?["spec"].take();
                let mut given = BTreeMap::new();
                for parameter in list(step, "params") {
                    let value = replaced(text(parameter, "value")?, &self.values)?;
                    given.insert(text(parameter, "name")?.to_owned(), value);
                }
                let mut values = parameters(list(&action, "params"), &given)?;
                for result in list(&action, "results") {
                    let result = text(result, "name")?;
                    let path = self.directory.join("steps").join(name).join(result);
                    fs::create_dir_all(path.parent().unwrap_or(&path))?;
                    values.insert(format!("step.results.{result}.path"), path.display().to_string());
                }
                (action, values)
            }
        };
        let mut mounted = BTreeMap::new();
        for mount in list(&step, "volumeMounts") {
            let volume = self.directory.join("volumes").join(replaced(text(mount, "name")?, &values)?);
            fs::create_dir_all(&volume)?;
            // As an emptyDir is.
            fs::set_permissions(&volume, fs::Permissions::from_mode(0o777))?;
            mounted.insert(text(mount, "mountPath")?, volume.display().to_string());
        }
        let script = self.directory.join(format!("{name}.sh"));
        fs::write(&script, text(&step, "script")?)?;
        let mut command = Command::new(self.path.join("bash"));
        command
            .arg(&script)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.directory.join("home"))
            .env("TMPDIR", self.directory.join("tmp"))
            // Instead of what a pod has.
            .env("KUBECONFIG", self.directory.join("kubeconfig"));
        for variable in list(&step, "env") {
            let value = replaced(text(variable, "value")?, &values)?;
            let value = mounted.get(value.as_str()).cloned().unwrap_or(value);
            command.env(text(variable, "name")?, value);
        }
        let unique = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let process = self.stage.nest().spawn(&format!("{unique}-{name}"), &mut command)?;
        Ok(Running { stage: self.stage, directory: self.directory.clone(), process })
    }

    /// Reads the results of the steps before.
    fn results_of_steps(&mut self) -> anyhow::Result<()> {
        let Ok(steps) = fs::read_dir(self.directory.join("steps")) else { return Ok(()) };
        for step in steps {
            let step = step?;
            for (name, value) in read_all(&step.path())? {
                let key = format!("steps.{}.results.{name}", step.file_name().display());
                self.values.insert(key, value);
            }
        }
        Ok(())
    }

    fn results(&self) -> anyhow::Result<BTreeMap<String, String>> {
        read_all(&self.directory.join("results"))
    }
}

fn read_all(directory: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for file in fs::read_dir(directory)? {
        let file = file?;
        all.insert(file.file_name().to_string_lossy().into_owned(), fs::read_to_string(file.path())?);
    }
    Ok(all)
}

/// The command line of a process that has words in its environment.
fn process_with(words: &str) -> Option<String> {
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let environment = fs::read(process.path().join("environ")).ok()?;
        if !String::from_utf8_lossy(&environment).contains(words) {
            return None;
        }
        let line = fs::read(process.path().join("cmdline")).ok()?;
        // A process that ended and is not reaped has no command line.
        (!line.is_empty()).then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    })
}

/// A step that runs.
pub struct Running<'s> {
    stage: &'s Stage<'s>,
    directory: PathBuf,
    process: Process,
}

/// How a Task ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code, as a shell counts.
    pub code: i32,
    /// Output of its steps.
    pub log: String,
    /// Its results.
    pub results: BTreeMap<String, String>,
}

impl Running<'_> {
    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Output so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.process.log()).unwrap_or_default()
    }

    /// Waits until it prints something.
    pub async fn until_says(&mut self, words: &str, within: Duration) -> anyhow::Result<()> {
        self.until(&format!("say {words:?}"), within, |run| run.log().contains(words)).await
    }

    /// Waits until it has given a result.
    pub async fn until_gives(&mut self, result: &str, value: &str, within: Duration) -> anyhow::Result<()> {
        let file = self.directory.join("results").join(result);
        let given = |_: &Self| fs::read_to_string(&file).is_ok_and(|text| text == value);
        self.until(&format!("give {result}={value}"), within, given).await
    }

    async fn until(
        &mut self,
        what: &str,
        within: Duration,
        is: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let (begun, within) = (std::time::Instant::now(), longer(within));
        while !is(self) {
            if let Some(status) = self.process.ended() {
                // It may have done so with its last breath.
                ensure!(is(self), "it ended with {status} and did not {what}:\n{}", self.log());
                return Ok(());
            }
            ensure!(begun.elapsed() < within, "it did not {what} within {within:?}:\n{}", self.log());
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    /// Fails unless it still runs.
    pub fn runs(&mut self) -> anyhow::Result<()> {
        match self.process.ended() {
            None => Ok(()),
            Some(status) => bail!("it ended already, with {status}:\n{}", self.log()),
        }
    }

    /// Cancels it as a pod is that is deleted. It has half a minute then.
    pub async fn cancelled(mut self) -> anyhow::Result<Ended> {
        tokio::task::block_in_place(|| self.process.terminate());
        self.ended(Duration::from_secs(1)).await
    }

    /// Waits until it ends.
    pub async fn ended(mut self, within: Duration) -> anyhow::Result<Ended> {
        let (begun, within) = (std::time::Instant::now(), longer(within));
        let status = loop {
            if let Some(status) = self.process.ended() {
                break status;
            }
            ensure!(begun.elapsed() < within, "it did not end within {within:?}:\n{}", self.log());
            tokio::time::sleep(GLANCE).await;
        };
        let code = status.code().or(status.signal().map(|s| s + 128)).context("no exit code")?;
        let log = self.log();
        self.tidy(&log)?;
        self.alone().await?;
        Ok(Ended { code, log, results: read_all(&self.directory.join("results"))? })
    }

    /// Waits until what it started has ended too.
    async fn alone(&self) -> anyhow::Result<()> {
        let of_it = self.directory.join("kubeconfig").display().to_string();
        let until = std::time::Instant::now() + ORPHANED;
        while let Some(process) = process_with(&of_it) {
            ensure!(std::time::Instant::now() < until, "it left {process} running:\n{}", self.log());
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    /// Checks for every script: it shows no secret, and leaves files only where it should.
    fn tidy(&self, log: &str) -> anyhow::Result<()> {
        let mut secrets = vec![KUBECONFIG, PASSWORD];
        secrets.extend(self.stage.secrets());
        for secret in secrets {
            for shown in [secret.to_owned(), BASE64_STANDARD.encode(secret)] {
                ensure!(
                    !log.contains(shown.trim()),
                    "a secret is in the log of {}",
                    self.directory.display()
                );
            }
        }
        let left: Vec<_> = fs::read_dir(self.directory.join("tmp"))?.flatten().map(|f| f.path()).collect();
        ensure!(left.is_empty(), "it left {left:?}:\n{log}");
        Ok(())
    }
}

impl Ended {
    /// Fails unless it ended so.
    pub fn with(self, code: i32) -> anyhow::Result<Self> {
        ensure!(self.code == code, "it ended with {} and not {code}:\n{}", self.code, self.log);
        Ok(self)
    }

    /// Fails unless it said so.
    pub fn saying(self, words: &str) -> anyhow::Result<Self> {
        super::stage::says(&self.log, words)?;
        Ok(self)
    }

    /// Fails if it said so.
    pub fn not_saying(self, words: &str) -> anyhow::Result<Self> {
        ensure!(!self.log.contains(words), "it says {words:?}:\n{}", self.log);
        Ok(self)
    }
}
