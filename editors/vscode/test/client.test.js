// The protocol alone: a client with the capabilities of VS Code's, and the server as the extension starts it.
"use strict";

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { pathToFileURL } = require("node:url");
const protocol = require("vscode-languageserver-protocol/node");
const { documentSelector, serverOptions } = require("../src/server");

const CAPABILITIES = {
  workspace: {
    workspaceEdit: { documentChanges: true },
    diagnostics: { refreshSupport: true },
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  textDocument: {
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: false },
    codeAction: {
      dataSupport: true,
      isPreferredSupport: true,
      resolveSupport: { properties: ["edit"] },
      codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source", "source.fixAll"] } },
    },
    hover: { contentFormat: ["markdown"] },
    publishDiagnostics: { relatedInformation: true, dataSupport: true, codeDescriptionSupport: true },
  },
  general: { positionEncodings: ["utf-16"] },
};

const PROGRAM = `from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        self.log({"loss": loss.item()})
        return loss
`;

async function connected(body) {
  const { command, args } = serverOptions(process.env.TRL_LINT);
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const connection = protocol.createProtocolConnection(
    new protocol.StreamMessageReader(server.stdout),
    new protocol.StreamMessageWriter(server.stdin),
  );
  const registered = [];
  connection.onRequest(protocol.RegistrationRequest.type, (asked) => void registered.push(...asked.registrations));
  connection.onRequest(protocol.DiagnosticRefreshRequest.type, () => null);
  connection.listen();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "trl-lint-"));
  try {
    const told = await connection.sendRequest(protocol.InitializeRequest.type, {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: CAPABILITIES,
      workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "work" }],
    });
    await connection.sendNotification(protocol.InitializedNotification.type, {});
    await body(connection, folder, told.capabilities, registered);
    await connection.sendRequest(protocol.ShutdownRequest.type);
    await connection.sendNotification(protocol.ExitNotification.type);
    assert.equal(await ended, 0);
  } finally {
    server.kill();
    fs.rmSync(folder, { recursive: true });
  }
}

test("diagnostics, a quick fix, all fixes and a hover, as VS Code asks for them", async () => {
  await connected(async (connection, folder, capabilities, registered) => {
    assert.ok(capabilities.diagnosticProvider.interFileDependencies);
    assert.ok(capabilities.codeActionProvider.codeActionKinds.includes("source.fixAll.trl-lint"));
    const file = path.join(folder, "train.py");
    fs.writeFileSync(file, PROGRAM);
    const uri = pathToFileURL(file).href;
    const [python] = documentSelector();
    const textDocument = { uri, languageId: python.language, version: 1, text: PROGRAM };
    await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, { textDocument });

    const report = await connection.sendRequest(protocol.DocumentDiagnosticRequest.type, { textDocument: { uri } });
    assert.equal(report.kind, "full");
    const [found] = report.items;
    assert.equal(found.code, "TRL003");
    assert.deepEqual(found.range.start, { line: 6, character: PROGRAM.split("\n")[6].indexOf("self.log") });
    assert.ok(found.relatedInformation.some((each) => each.message.includes("this rank's own data")));

    const asked = { textDocument: { uri }, range: found.range, context: { diagnostics: [found] } };
    const actions = await connection.sendRequest(protocol.CodeActionRequest.type, asked);
    const fix = actions.find((each) => each.isPreferred);
    const [change] = fix.edit.documentChanges;
    assert.equal(change.textDocument.version, 1);
    assert.match(change.edits.map((each) => each.newText).join(""), /gather/);

    const all = actions.find((each) => each.kind === "source.fixAll.trl-lint");
    assert.equal(all.edit, undefined);
    const resolved = await connection.sendRequest(protocol.CodeActionResolveRequest.type, all);
    assert.deepEqual(resolved.edit.documentChanges, fix.edit.documentChanges);

    const position = { line: 5, character: 8 };
    const hover = await connection.sendRequest(protocol.HoverRequest.type, { textDocument: { uri }, position });
    assert.match(hover.contents.value, /`loss`: differs between ranks/);
    assert.equal(registered[0].method, "workspace/didChangeWatchedFiles");
  });
});

test("a server that can't be started is told by its name", () => {
  assert.deepEqual(serverOptions(""), { command: "trl-lint", args: ["server"] });
  assert.deepEqual(serverOptions("/opt/bin/trl-lint"), { command: "/opt/bin/trl-lint", args: ["server"] });
});
