// How the server is started, and what it is asked about: all that the client has to know of it. It needs no `vscode`.
"use strict";

const LANGUAGES = ["python", "shellscript", "makefile", "dockerfile", "yaml", "json"];

/** The command line of the server. */
function serverOptions(path) {
  return { command: path || "trl-lint", args: ["server"] };
}

/** The documents that are linted: those in files, and the cells of notebooks in files. */
function documentSelector() {
  const cells = { notebook: { scheme: "file", notebookType: "jupyter-notebook" }, language: "python" };
  return [...LANGUAGES.map((language) => ({ scheme: "file", language })), cells];
}

module.exports = { LANGUAGES, documentSelector, serverOptions };
