/** The language client: which documents it sends to the server, and with which settings. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as vscode from "vscode";
import {
  CloseAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
} from "vscode-languageclient/node";

import type { Command } from "./discovery";
import { lastLine } from "./probe";
import { forServer } from "./settings";
import { system } from "./system";

const PATIENCE = 2_000; // milliseconds for the last words of a server that has ended

export const SELECTOR = ["file", "untitled", "vscode-notebook", "vscode-notebook-cell"].map((scheme) => ({
  scheme,
  language: "python",
}));

/** A client that leaves it to the caller to say why the server does not start, and starts it again if it ends later. */
export class Client extends LanguageClient {
  readonly #log: ServerLog;
  #started = false;

  /** `directory` is where the server that a command starts runs. */
  constructor(command: Command, directory: string, channel: vscode.LogOutputChannel) {
    const log = new ServerLog(channel);
    const run = { command: command.program, args: [...command.arguments, "server"], options: { cwd: directory } };
    const handler: ErrorHandler = {
      error: (...problem) => this.#usual.error(...problem),
      closed: () => (this.#started ? this.#usual.closed() : { action: CloseAction.DoNotRestart }),
    };
    super("torchlint", "torchlint", run, clientOptions(channel, log, handler));
    this.#log = log;
  }

  readonly #usual = this.createDefaultErrorHandler();

  /** Start the server. Rejects with the last line that it wrote, if it ends at once. */
  async begin(): Promise<void> {
    try {
      await this.start();
      this.#started = true;
    } catch (error) {
      const usual = error instanceof Error ? error.message : String(error);
      throw new Error((await this.#log.lastWords()) ?? usual, { cause: error });
    }
  }

  override error(message: string, data?: unknown, show?: boolean | "force"): void {
    super.error(message, data, this.#started && show);
  }
}

/** What the server writes to its standard error. */
class ServerLog {
  #last: string | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(private readonly channel: vscode.LogOutputChannel) {}

  read(stream: Readable): void {
    this.#ended = new Promise((ended) => stream.once("close", ended));
    createInterface({ input: stream }).on("line", (line) => {
      this.channel.appendLine(line);
      this.#last = lastLine(line) ?? this.#last;
    });
  }

  /** The last line, once the server has ended. */
  async lastWords(): Promise<string | undefined> {
    await Promise.race([this.#ended, new Promise((late) => setTimeout(late, PATIENCE))]);
    return this.#last;
  }
}

function clientOptions(channel: vscode.LogOutputChannel, log: ServerLog, errorHandler: ErrorHandler): LanguageClientOptions {
  return {
    documentSelector: SELECTOR,
    outputChannel: channel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: { settings: settings() },
    initializationFailedHandler: () => false,
    errorHandler,
    diagnosticCollectionName: "torchlint",
    middleware: {
      workspace: {
        // The server asks for its settings, and gets those of each folder, without those of this extension.
        didChangeConfiguration: (_, next) => next(undefined),
        configuration: async (params, token, next) => {
          const values: unknown = await next(params, token);
          if (!Array.isArray(values)) return [];
          return values.map((value: unknown, i) => (params.items[i]?.section === "torchlint" ? cleaned(value) : value));
        },
      },
    },
    stdioOptions: {
      stdout: () => undefined, // belongs to the protocol
      stderr: (stream) => {
        log.read(stream);
      },
    },
  };
}

function settings(): unknown {
  const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
  return cleaned(vscode.workspace.getConfiguration("torchlint", resource));
}

function cleaned(value: unknown): unknown {
  return typeof value === "object" && value !== null ? forServer({ ...value }, system()) : value;
}
