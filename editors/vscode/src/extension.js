// The extension: it starts the server as the settings say, shows whether it runs, and starts it again when they change.
"use strict";

const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");
const { documentSelector, serverOptions } = require("./server");

const NAME = "trl-lint";
// What the status shows, by the state of the client.
const SHOWN = {
  [State.Stopped]: { text: "$(circle-slash) trl-lint", tooltip: "The server does not run." },
  [State.Starting]: { text: "$(loading~spin) trl-lint", tooltip: "The server is being started." },
  [State.StartFailed]: { text: "$(error) trl-lint", tooltip: "The server could not be started." },
  [State.Running]: { text: "$(check) trl-lint", tooltip: "The server runs. Click to restart it." },
};

let client;
let status;

function show(state, problem) {
  const shown = SHOWN[state];
  status.text = problem ? "$(error) trl-lint" : shown.text;
  status.tooltip = problem || shown.tooltip;
}

async function start() {
  const settings = vscode.workspace.getConfiguration(NAME);
  if (!settings.get("enable", true)) {
    show(State.Stopped);
    return;
  }
  const options = serverOptions(settings.get("path"));
  client = new LanguageClient(NAME, NAME, options, { documentSelector: documentSelector() });
  client.onDidChangeState((event) => show(event.newState));
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    show(State.Stopped, `\`${options.command} ${options.args.join(" ")}\` could not be started: ${error.message}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) {
    await running.dispose();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  status = vscode.window.createStatusBarItem(NAME, vscode.StatusBarAlignment.Right);
  status.name = NAME;
  status.command = "trl-lint.restart";
  status.show();
  context.subscriptions.push(
    status,
    vscode.commands.registerCommand("trl-lint.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${NAME}.enable`) || event.affectsConfiguration(`${NAME}.path`)) {
        return restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
