// The extension as it is packaged, its client library included, against the real server. Only `vscode` itself is a
// stand-in.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { extensionWith, opened } = require("./vscode");

const EXTENSION = path.join(__dirname, "../dist/extension.js");
const PROGRAM = `from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        self.log({"loss": loss.item()})
        return loss
`;
const TOKEN = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };

async function activated(settings, body) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "trl-lint-"));
  const file = path.join(folder, "train.py");
  fs.writeFileSync(file, PROGRAM);
  const document = opened(file, PROGRAM);
  const { extension, seen, vscode } = extensionWith(EXTENSION, settings, [document]);
  const first = seen.next(document.uri);
  await extension.activate({ subscriptions: [] });
  try {
    await body({ document, first, seen, vscode });
  } finally {
    await extension.deactivate();
    fs.rmSync(folder, { recursive: true });
  }
}

test("the client of the extension shows diagnostics, a preferred fix and what a name is", async () => {
  await activated({ path: process.env.TRL_LINT }, async ({ document, first, seen, vscode }) => {
    assert.match(seen.status.text, /\$\(check\)/);
    const [found] = await first;
    assert.equal(found.code, "TRL003");
    assert.equal(found.source, "trl-lint");
    assert.equal(found.range.start.line, 6);

    const context = { diagnostics: [found], triggerKind: 1, only: undefined };
    const actions = await seen.providers.actions.provideCodeActions(document, found.range, context, TOKEN);
    const preferred = actions.find((each) => each.isPreferred);
    assert.equal(preferred.title, "Gather it over the ranks");
    const [[uri, [edit]]] = preferred.edit.changes;
    assert.equal(uri, document.uri.toString());
    assert.match(JSON.stringify(edit), /self\.accelerator\.gather\(loss\)\.mean\(\)/);

    const hover = await seen.providers.hover.provideHover(document, new vscode.Position(5, 8), TOKEN);
    assert.match(JSON.stringify(hover.given), /differs between ranks/);
    assert.deepEqual(seen.errors, []);
  });
});

test("a server that can't be started is told in the status", async () => {
  await activated({ path: "/nowhere/trl-lint" }, async ({ seen }) => {
    assert.match(seen.status.text, /\$\(error\)/);
    assert.match(seen.status.tooltip, /`\/nowhere\/trl-lint server` could not be started/);
  });
});

test("an extension that is not enabled starts nothing", async () => {
  await activated({ enable: false, path: "/nowhere/trl-lint" }, async ({ seen }) => {
    assert.match(seen.status.text, /\$\(circle-slash\)/);
    assert.deepEqual(seen.errors, []);
  });
});
