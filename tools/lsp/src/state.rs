//! What the server knows: open texts, files, settings, and the texts that were checked last.

use crate::answer::{Elsewhere, Encoding, ItemKind, Snapshot};
use crate::convert::View;
use crate::documents::Documents;
use crate::files::{Index, Workspace};
use crate::uri;
use duologue::compile::{Input, Request};
use duologue_project::config::{Config, Which};
use duologue_project::terminal::Terminal;
use gen_lsp_types::Uri;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How many checked texts are kept.
const KEPT: usize = 4;
/// How many files that import a text are checked along with it.
const IMPORTERS: usize = 32;

/// How many declarations of other files are proposed.
const ELSEWHERE: usize = 100;

/// Everything that answers are computed from.
pub struct State<'t> {
    pub documents: Documents,
    pub index: Index,
    pub folders: Vec<PathBuf>,
    pub encoding: Encoding,
    /// The revision that code lenses compare with; empty if there are none.
    pub against: String,
    /// What could not be used, to be shown to the user.
    pub complaints: Vec<String>,
    terminal: &'t Terminal,
    configs: BTreeMap<PathBuf, Rc<Config>>,
    epoch: u64,
    views: Vec<(PathBuf, u64, Rc<View>)>,
}

impl<'t> State<'t> {
    pub fn new(terminal: &'t Terminal) -> State<'t> {
        State {
            documents: Documents::default(),
            index: Index::new(),
            folders: Vec::new(),
            encoding: Encoding::Utf16,
            against: "HEAD".to_owned(),
            complaints: Vec::new(),
            terminal,
            configs: BTreeMap::new(),
            epoch: 0,
            views: Vec::new(),
        }
    }

    /// A number that is another one after each change of a text, a file or a setting.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Forgets what was computed from texts and files that have changed.
    pub fn changed(&mut self) {
        self.epoch += 1;
        let open = &self.documents.open;
        self.views.retain(|(path, ..)| open.contains_key(path));
    }

    /// Forgets the configurations.
    pub fn reconfigured(&mut self) {
        self.configs.clear();
        self.changed();
    }

    /// The configuration for a file or folder.
    pub fn config(&mut self, path: &Path) -> Rc<Config> {
        let folder = match path.is_dir() {
            true => path,
            false => path.parent().unwrap_or(path),
        };
        if let Some(known) = self.configs.get(folder) {
            return Rc::clone(known);
        }
        let read = Config::read(Which::Nearest, &[folder.to_path_buf()], self.terminal);
        let config = read.unwrap_or_else(|failure| {
            self.complaints.push(match failure {
                duologue_project::Failure::Usage(words)
                | duologue_project::Failure::Environment(words) => {
                    words + "; standard error has the reasons"
                }
                duologue_project::Failure::Findings | duologue_project::Failure::Mistake(_) => {
                    "the configuration cannot be used".to_owned()
                }
            });
            Config::default()
        });
        let config = Rc::new(config);
        self.configs
            .insert(folder.to_path_buf(), Rc::clone(&config));
        config
    }

    /// The path of a document.
    pub fn path(&self, uri: &Uri) -> PathBuf {
        self.documents.identity_of(&uri::path_of(uri))
    }

    /// A request for these files with the settings of the first.
    pub fn request(&mut self, paths: Vec<PathBuf>) -> Request {
        let config = paths.first().map(|path| self.config(path));
        let mut request = Request::default();
        if let Some(config) = config {
            request.import_dirs.clone_from(&config.import_dirs);
            request.defaults = config.levels();
        }
        request.inputs = paths.into_iter().map(Input::Path).collect();
        request
    }

    pub fn workspace<'a>(&'a self, import_dirs: &'a [PathBuf]) -> Workspace<'a> {
        Workspace {
            index: &self.index,
            documents: &self.documents,
            import_dirs,
        }
    }

    /// The text of a document, checked with the files that use it. The same until something changes.
    pub fn view(&mut self, path: &Path) -> Option<Rc<View>> {
        let known = self.views.iter().position(|(known, ..)| known == path);
        if let Some(at) = known {
            let (_, epoch, view) = &self.views[at];
            if *epoch == self.epoch {
                return Some(Rc::clone(view));
            }
            self.views.remove(at);
        }
        let config = self.config(path);
        let workspace = self.workspace(&config.import_dirs);
        let (importers, is_cut) = workspace.importers(path, IMPORTERS);
        let mut inputs = vec![path.to_path_buf()];
        inputs.extend(importers.into_iter().filter(|path| self.can_be_read(path)));
        let mut view = self.compiled(inputs.clone(), is_cut)?;
        let mut needed = vec![path.to_path_buf()];
        let unknown = unknown_protocols(&view);
        if !unknown.is_empty() {
            let workspace = self.workspace(&config.import_dirs);
            let more = workspace.declaring(path, &unknown).into_iter();
            let more: Vec<_> = more.filter(|path| self.can_be_read(path)).collect();
            let known = inputs.len();
            for path in more {
                if !inputs.contains(&path) {
                    inputs.push(path.clone());
                }
                needed.push(path);
            }
            if inputs.len() > known {
                view = self.compiled(inputs, is_cut)?;
            }
        }
        view.needed = needed;
        let view = Rc::new(view);
        // Nothing says when a file changes that is not open.
        if self.documents.open.contains_key(path) {
            let known = (path.to_path_buf(), self.epoch, Rc::clone(&view));
            self.views.insert(0, known);
            self.views.truncate(KEPT);
        }
        Some(view)
    }

    fn can_be_read(&self, path: &Path) -> bool {
        self.documents.open.contains_key(path) || path.is_file()
    }

    /// The first of some files, checked with the others. Others that cannot be read are left out.
    pub fn compiled(&mut self, mut inputs: Vec<PathBuf>, is_cut: bool) -> Option<View> {
        loop {
            let request = self.request(inputs.clone());
            let unreadable = match Snapshot::of(&request, &self.documents) {
                Ok(snapshot) => return Some(View::new(snapshot, request, is_cut, self.encoding)),
                Err(unreadable) => unreadable.path,
            };
            let at = inputs.iter().position(|path| *path == unreadable)?;
            if at == 0 {
                return None;
            }
            inputs.remove(at);
        }
    }

    /// The other files that may use a name that a file declares: those that contain it and import the file, or are in its package. If
    /// the name is to be replaced by a new one, also those that contain the new one.
    pub fn users(&mut self, path: &Path, name: &str, new: Option<&str>) -> Vec<PathBuf> {
        let config = self.config(path);
        let workspace = self.workspace(&config.import_dirs);
        let (importers, _) = workspace.importers(path, usize::MAX);
        let mut importers = importers;
        importers.retain(|path| workspace.contains(path, Some(name), new));
        let mut seen: BTreeSet<PathBuf> = BTreeSet::from([path.to_path_buf()]);
        let all = importers
            .into_iter()
            .chain(workspace.mentioning(path, name, new));
        all.filter(|path| seen.insert(path.clone()) && self.can_be_read(path))
            .collect()
    }

    /// What other files of the workspace declare that a file does not see, as far as it is wanted, and what makes it visible.
    pub fn elsewhere(
        &mut self,
        path: &Path,
        is_wanted: &dyn Fn(ItemKind, &str) -> bool,
    ) -> Vec<Elsewhere> {
        let config = self.config(path);
        let workspace = self.workspace(&config.import_dirs);
        let Some(own) = workspace.heads(path) else {
            return Vec::new();
        };
        let wanted = workspace.all().flat_map(|(file, heads)| {
            let declared = heads.declared.iter();
            let meant = declared.filter(move |(kind, name)| file != path && is_wanted(*kind, name));
            meant.map(move |meant| (file, heads, meant))
        });
        let wanted: Vec<_> = wanted.take(ELSEWHERE).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let imports = own.imports.iter();
        let imports = imports.filter_map(|import| workspace.imported(path, import));
        // What imports the file cannot be imported by it.
        let (importers, _) = workspace.importers(path, usize::MAX);
        let hidden: BTreeSet<PathBuf> = imports.chain(importers).collect();
        let found = wanted
            .into_iter()
            .filter_map(|(file, heads, (kind, name))| {
                let is_seen = kind.is_protocol() && heads.package == own.package;
                let import = match is_seen {
                    true => None,
                    false if hidden.contains(file) => return None,
                    false => Some(workspace.import_of(path, file)?),
                };
                Some(Elsewhere {
                    kind: *kind,
                    name: name.clone(),
                    import,
                })
            });
        found.collect()
    }

    /// The open texts whose findings may depend on a text: those that import it, or that it imports, directly or through others.
    pub fn dependents(&self, path: &Path) -> Vec<PathBuf> {
        let imports = |path: &Path| {
            let heads = self.workspace(&[]).heads(path);
            heads.map_or(0, |heads| heads.imports.len())
        };
        let others = self.documents.open.keys().filter(|other| *other != path);
        let package = |path: &Path| self.workspace(&[]).heads(path).map(|heads| &heads.package);
        let own = package(path);
        let related =
            others.filter(|other| imports(other) > 0 || imports(path) > 0 || package(other) == own);
        related.cloned().collect()
    }
}

/// The names in the text that are no known protocol.
fn unknown_protocols(view: &View) -> BTreeSet<String> {
    let compilation = &view.snapshot.compilation;
    let found = compilation.diagnostics.iter();
    let found = found.filter(|found| {
        found.rule == "unknown-protocol" && found.primary.span.source == view.snapshot.source
    });
    let names = found.map(|found| compilation.sources.slice(found.primary.span).to_owned());
    names.collect()
}
