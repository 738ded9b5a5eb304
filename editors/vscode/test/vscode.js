// As much of the `vscode` module as the extension and its client library touch with one document open. What is not
// spelled out here is there, and does nothing.
"use strict";

const Module = require("node:module");

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
  static from = (...all) => new Disposable(() => all.forEach((each) => each.dispose()));
}

class EventEmitter {
  listeners = new Set();
  event = (listener, self) => {
    const bound = self ? listener.bind(self) : listener;
    this.listeners.add(bound);
    return new Disposable(() => this.listeners.delete(bound));
  };
  fire(value) {
    return Promise.all([...this.listeners].map((listener) => listener(value)));
  }
  dispose() {
    this.listeners.clear();
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end, line, character) {
    const numbers = typeof start === "number";
    this.start = numbers ? new Position(start, end) : start;
    this.end = numbers ? new Position(line, character) : end;
  }
}

class Uri {
  constructor(text) {
    const url = new URL(text);
    Object.assign(this, { text, scheme: url.protocol.slice(0, -1), path: url.pathname, fsPath: decodeURIComponent(url.pathname) });
  }
  static parse = (text) => new Uri(text);
  static file = (path) => new Uri(`file://${path}`);
  toString() {
    return this.text;
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}

class DiagnosticRelatedInformation {
  constructor(location, message) {
    Object.assign(this, { location, message });
  }
}

class CodeAction {
  constructor(title, kind) {
    Object.assign(this, { title, kind });
  }
}

class WorkspaceEdit {
  changes = [];
  set(uri, edits) {
    this.changes.push([uri.toString(), edits]);
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append = (part) => new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  static Empty = new CodeActionKind("");
  static QuickFix = new CodeActionKind("quickfix");
  static Source = new CodeActionKind("source");
  static SourceFixAll = new CodeActionKind("source.fixAll");
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: new EventEmitter().event };
  cancel() {}
  dispose() {}
}

// Whatever else is asked for: a class, a function, a namespace or an enumeration of itself.
function anything(known) {
  const stub = class {
    constructor(...given) {
      this.given = given;
    }
  };
  return new Proxy(Object.assign(stub, known), {
    get: (target, name) => {
      if (!(name in target) && typeof name === "string" && name !== "then") {
        target[name] = name.startsWith("on") ? new EventEmitter().event : anything({});
      }
      return target[name];
    },
    apply: () => new Disposable(),
  });
}

function standIn(settings, documents) {
  const events = {};
  const event = (name) => (events[name] ??= new EventEmitter()).event;
  const seen = { diagnostics: new Map(), providers: {}, status: undefined, errors: [], commands: {}, events };
  const told = new EventEmitter();
  /** The diagnostics of a document that are shown next. */
  seen.next = (uri) =>
    new Promise((resolve) => {
      const listening = told.event((each) => each === uri.toString() && (listening.dispose(), resolve(seen.diagnostics.get(each))));
    });
  const collection = {
    set: (uri, found) => {
      seen.diagnostics.set(uri.toString(), found);
      told.fire(uri.toString());
    },
    delete: (uri) => seen.diagnostics.delete(uri.toString()),
    has: (uri) => seen.diagnostics.has(uri.toString()),
    clear() {},
    dispose() {},
    forEach() {},
  };
  const provider = (name) => (_, given) => {
    seen.providers[name] = given;
    return new Disposable();
  };
  const workspace = anything({
    textDocuments: documents,
    notebookDocuments: [],
    workspaceFolders: undefined,
    getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise, inspect: () => undefined }),
    createFileSystemWatcher: () => anything({}),
  });
  for (const name of ["onDidOpenTextDocument", "onDidChangeTextDocument", "onDidChangeConfiguration"]) {
    workspace[name] = event(name);
  }
  const log = () => ({ append() {}, appendLine() {}, error: (text) => seen.errors.push(text), info() {}, warn() {}, debug() {}, trace() {}, show() {}, dispose() {}, onDidChangeLogLevel: new EventEmitter().event });
  const window = anything({
    activeTextEditor: { document: documents[0] },
    visibleTextEditors: documents.map((document) => ({ document })),
    tabGroups: anything({ all: [] }),
    createOutputChannel: log,
    createStatusBarItem: () => (seen.status = { show() {}, dispose() {} }),
    showErrorMessage: async (text) => void seen.errors.push(text),
  });
  const languages = anything({
    createDiagnosticCollection: () => collection,
    match: (_, document) => (document.languageId === "python" ? 10 : 0),
    registerHoverProvider: provider("hover"),
    registerCodeActionsProvider: provider("actions"),
  });
  const commands = anything({
    registerCommand: (name, run) => {
      seen.commands[name] = run;
      return new Disposable();
    },
    executeCommand: async () => undefined,
  });
  const vscode = anything({
    ...{ CancellationTokenSource, CodeAction, CodeActionKind, Diagnostic, DiagnosticRelatedInformation, Disposable },
    ...{ EventEmitter, Location, Position, Range, Uri, WorkspaceEdit },
    ...{ commands, languages, window, workspace },
    env: { appName: "stand-in", language: "en", machineId: "none" },
    version: "1.91.0",
  });
  return { seen, vscode };
}

/** A document as the editor has it open. */
function opened(file, text) {
  return { uri: Uri.file(file), fileName: file, languageId: "python", version: 1, isClosed: false, getText: () => text };
}

/** The extension's module with a stand-in for `vscode` that has these settings, and has documents open. */
function extensionWith(file, settings, documents) {
  const { seen, vscode } = standIn(settings, documents);
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  try {
    delete require.cache[require.resolve(file)];
    return { extension: require(file), seen, vscode };
  } finally {
    Module._load = load;
  }
}

module.exports = { extensionWith, opened };
