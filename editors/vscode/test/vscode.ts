/**
 * As much of VS Code's interface as the extension and its language client use, without an editor: documents are opened and
 * changed by calls, and what the extension registers is kept for the test to call.
 */

import { URI } from "vscode-uri";

type Listener = (event: unknown) => unknown;

export class Disposable {
  constructor(private readonly end: () => unknown) {}

  static from(...all: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => {
      for (const each of all) each.dispose();
    });
  }

  dispose(): void {
    this.end();
  }
}

export class EventEmitter {
  readonly #listeners = new Set<Listener>();

  readonly event = (listener: Listener, self?: unknown, into?: Disposable[]): Disposable => {
    const bound = listener.bind(self);
    this.#listeners.add(bound);
    const end = new Disposable(() => this.#listeners.delete(bound));
    into?.push(end);
    return end;
  };

  fire(event?: unknown): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  constructor(
    readonly start: Position,
    readonly end: Position,
  ) {}
}

export class Diagnostic {
  source?: string;
  code?: string | number | { value: string; target: URI };

  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity: number,
  ) {}
}

export class TextEdit {
  constructor(
    readonly range: Range,
    readonly newText: string,
  ) {}
}

export class WorkspaceEdit {
  readonly texts: TextEdit[] = [];

  set(_: URI, edits: (TextEdit | [TextEdit, unknown])[]): void {
    for (const edit of edits) this.texts.push(Array.isArray(edit) ? edit[0] : edit);
  }
}

export class CodeActionKind {
  static readonly Empty = new CodeActionKind("");

  constructor(readonly value: string) {}

  append(part: string): CodeActionKind {
    return new CodeActionKind(this.value === "" ? part : `${this.value}.${part}`);
  }
}

export class CodeAction {
  kind?: CodeActionKind;
  edit?: WorkspaceEdit;

  constructor(readonly title: string) {}
}

export class CancellationTokenSource {
  readonly #cancelled = new EventEmitter();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.#cancelled.event };

  cancel(): void {
    this.token.isCancellationRequested = true;
    this.#cancelled.fire();
  }

  dispose(): void {
    this.#cancelled.dispose();
  }
}

export class InlayHint {
  constructor(
    readonly position: Position,
    readonly label: string,
  ) {}
}

class Empty {
  readonly nothing = undefined;
}

export class TabInputText {
  constructor(readonly uri: URI) {}
}

/** An open text document. */
export class Document {
  version = 1;
  readonly uri: URI;
  readonly languageId = "python";
  readonly isClosed = false;

  constructor(
    path: string,
    private text: string,
  ) {
    this.uri = URI.file(path);
  }

  getText(): string {
    return this.text;
  }

  /** Replace the whole text, and return the event of that. */
  replace(text: string): unknown {
    const range = new Range(new Position(0, 0), new Position(this.text.split("\n").length, 0));
    const change = { range, rangeLength: this.text.length, text };
    this.version += 1;
    this.text = text;
    return { document: this, contentChanges: [change], reason: undefined };
  }
}

/** What the test did to the editor, and what the extension did. */
export class Editor {
  readonly commands = new Map<string, (...args: unknown[]) => unknown>();
  readonly messages: string[] = [];
  readonly log: string[] = [];
  readonly diagnostics = new Map<string, readonly Diagnostic[]>();
  readonly status: Record<string, unknown> = {};
  readonly documents: Document[] = [];
  readonly providers = new Map<string, Record<string, (...args: unknown[]) => unknown>>();
  page: { provideTextDocumentContent(uri: URI): Promise<string> } | undefined;
  settings: Record<string, unknown> = {};
  trusted = true;
  folders: { uri: URI; name: string; index: number }[] = [];
  readonly #events = new Map<string, EventEmitter>();

  /** Fire an event of `workspace` or `window`. */
  fire(name: string, event: unknown): void {
    this.#event(name).fire(event);
  }

  open(document: Document): void {
    this.documents.push(document);
    this.fire("onDidChangeTabs", { opened: [document], closed: [], changed: [] });
    this.fire("onDidOpenTextDocument", document);
  }

  change(name: string, value: unknown): void {
    this.settings[name] = value;
    this.fire("onDidChangeConfiguration", { affectsConfiguration: (section: string) => `torchlint.${name}`.startsWith(section) });
  }

  #event(name: string): EventEmitter {
    const known = this.#events.get(name) ?? new EventEmitter();
    this.#events.set(name, known);
    return known;
  }

  /** The module `vscode`. What is not here is an event, a function without effect, or an empty class, by its name. */
  module(): object {
    const workspace = this.#namespace({
      name: "test",
      notebookDocuments: [],
      getConfiguration: (section?: string) => this.#configuration(section),
      getWorkspaceFolder: () => this.folders[0],
      createFileSystemWatcher: () => this.#namespace({}),
      asRelativePath: (path: unknown) => String(path),
      registerTextDocumentContentProvider: (_: string, provider: Editor["page"]) => {
        this.page = provider;
        return new Disposable(() => undefined);
      },
    });
    Object.defineProperties(workspace, {
      textDocuments: { get: () => this.documents },
      workspaceFolders: { get: () => this.folders },
      isTrusted: { get: () => this.trusted },
    });
    const own: Record<string, unknown> = {
      __esModule: true,
      version: "1.100.0",
      env: { language: "en", appName: "test", openExternal: () => Promise.resolve(true) },
      extensions: this.#namespace({ all: [], getExtension: () => undefined }),
      workspace,
      window: this.#window(),
      languages: this.#languages(),
      commands: {
        executeCommand: () => Promise.resolve(),
        registerCommand: (name: string, run: (...args: unknown[]) => unknown) => {
          this.commands.set(name, run);
          return new Disposable(() => this.commands.delete(name));
        },
      },
      Uri: URI,
      DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
      DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
      LanguageStatusSeverity: { Information: 0, Warning: 1, Error: 2 },
      LogLevel: { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 },
      NotebookCellKind: { Markup: 1, Code: 2 },
      ProgressLocation: { Window: 10 },
      ...{ CancellationTokenSource, CodeAction, CodeActionKind, Diagnostic, Disposable, EventEmitter, InlayHint },
      ...{ Position, Range, TabInputText, TextEdit, WorkspaceEdit },
    };
    const classes = new Map<PropertyKey, unknown>();
    return new Proxy(own, {
      get: (target, name) => {
        if (typeof name === "string" && name in target) return target[name];
        if (!classes.has(name)) classes.set(name, class extends Empty {});
        return classes.get(name);
      },
    });
  }

  #namespace(own: Record<string, unknown>): Record<string, unknown> {
    return new Proxy(own, {
      get: (target, name) => {
        if (typeof name !== "string" || name in target) return Reflect.get(target, name) as unknown;
        if (name.startsWith("on")) return this.#event(name).event;
        return (...args: unknown[]) => (name.startsWith("show") ? this.#shown(args) : new Disposable(() => undefined));
      },
    });
  }

  #shown([message]: unknown[]): Promise<undefined> {
    this.messages.push(String(message));
    return Promise.resolve(undefined);
  }

  #window(): Record<string, unknown> {
    const write = (...text: unknown[]): void => void this.log.push(text.map(String).join(" "));
    const logger = { append: write, appendLine: write, trace: write, debug: write, info: write, warn: write, error: write };
    return this.#namespace({
      visibleTextEditors: [],
      activeTextEditor: undefined,
      tabGroups: { all: [this.#tabs()], onDidChangeTabs: this.#event("onDidChangeTabs").event },
      createOutputChannel: () => this.#namespace({ ...logger, logLevel: 3, name: "torchlint" }),
      withProgress: (_: unknown, work: (...args: unknown[]) => unknown) =>
        work({ report: () => undefined }, new CancellationTokenSource().token),
    });
  }

  #tabs(): object {
    return Object.defineProperty({}, "tabs", { get: () => this.documents.map(({ uri }) => ({ input: new TabInputText(uri) })) });
  }

  #languages(): Record<string, unknown> {
    const keep = (kind: string) => (_: unknown, provider: Record<string, (...args: unknown[]) => unknown>) => {
      this.providers.set(kind, provider);
      return new Disposable(() => this.providers.delete(kind));
    };
    return this.#namespace({
      match: (selector: { scheme?: string; language?: string }[], { uri, languageId }: Document) =>
        selector.some((each) => each.scheme === uri.scheme && each.language === languageId) ? 10 : 0,
      createLanguageStatusItem: () => Object.assign(this.status, { dispose: () => undefined }),
      createDiagnosticCollection: () =>
        this.#namespace({
          set: (uri: URI, found?: readonly Diagnostic[]) => this.diagnostics.set(uri.toString(), found ?? []),
          delete: (uri: URI) => this.diagnostics.delete(uri.toString()),
          has: (uri: URI) => this.diagnostics.has(uri.toString()),
        }),
      registerCodeActionsProvider: keep("codeActions"),
      registerHoverProvider: keep("hover"),
      registerInlayHintsProvider: keep("hints"),
    });
  }

  #configuration(section?: string): Record<string, unknown> {
    const values = section === "torchlint" ? this.settings : section === undefined ? { torchlint: this.settings } : {};
    const get = (name: string, other: unknown): unknown => (values)[name] ?? other;
    return { ...values, get, has: (name: string) => name in values, inspect: () => undefined };
  }
}
