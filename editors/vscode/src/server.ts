/** Starts, restarts and stops the server, one after another. */

import * as vscode from "vscode";
import { State } from "vscode-languageclient/node";

import { Client } from "./client";
import { type Command, discover } from "./discovery";
import { version } from "./probe";
import { selectedInterpreter } from "./python";
import type { Status } from "./status";
import { system } from "./system";

const HELP = "https://github.com/torchlint/torchlint/blob/main/docs/editors.md#install-the-server";

interface Running {
  client: Client;
  command: Command;
}

export class Server {
  #running: Running | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #told: string | undefined;

  /** `directory` is where the server runs: one in which no Python modules are. */
  constructor(
    private readonly directory: string,
    private readonly channel: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** The command that runs torchlint, if the server is running. */
  get command(): Command | undefined {
    return this.#running?.command;
  }

  /** Start or stop the server as the settings say; with `anew`, also if they still choose the same one. */
  update({ anew = false } = {}): Promise<void> {
    return this.#next(async () => {
      if (anew) this.#told = undefined;
      if (!enabled()) {
        await this.#end();
        this.status.disabled();
      } else {
        await this.#use(anew);
      }
    });
  }

  stop(): Promise<void> {
    return this.#next(() => this.#end());
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch((error: unknown) => {
      this.channel.error(String(error));
    });
    return done;
  }

  async #use(anew: boolean): Promise<void> {
    const before = this.#running;
    this.status.starting();
    const chosen = await this.#choose();
    if (chosen === undefined) {
      await this.#end();
      return;
    }
    const [command, name] = chosen;
    const same = JSON.stringify(before?.command) === JSON.stringify(command);
    if (anew || !same || before?.client.state !== State.Running) {
      await this.#end();
      await this.#start(command, name);
    } else {
      this.status.running(name, command.origin);
    }
  }

  /** The first command that runs torchlint, and its version. */
  async #choose(): Promise<[Command, string] | undefined> {
    const settings = vscode.workspace.getConfiguration("torchlint");
    const choice = { path: settings.get<string>("path", ""), interpreter: settings.get<string>("interpreter", "") };
    const found = discover(choice, await selectedInterpreter(), system());
    const reasons = [...found.refused];
    for (const command of found.commands) {
      try {
        return [command, await version(command, this.directory)];
      } catch (error) {
        reasons.push(`${command.origin}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    for (const reason of reasons) this.channel.warn(reason);
    const why = reasons.length > 0 ? reasons.join("; ") : "it is not in PATH, and no interpreter is selected";
    this.#fail(`torchlint was not found (${why}). Install it, or set torchlint.path.`);
    return undefined;
  }

  async #start(command: Command, name: string): Promise<void> {
    this.channel.info(`torchlint ${name}, ${command.origin}`);
    const client = new Client(command, this.directory, this.channel);
    client.onDidChangeState(({ newState }) => {
      if (this.#running?.client !== client) return; // it is being started, or another has taken its place
      if (newState === State.Running) this.status.running(name, command.origin);
      if (newState === State.Stopped) this.status.failed("the server has stopped");
    });
    try {
      await client.begin();
      this.#running = { client, command };
      this.status.running(name, command.origin);
    } catch (error) {
      this.#fail(`The torchlint server did not start: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #end(): Promise<void> {
    const client = this.#running?.client;
    this.#running = undefined;
    await client?.dispose();
  }

  /** Say once what is wrong, and what can be done. */
  #fail(message: string): void {
    this.status.failed(message);
    this.channel.error(message);
    if (this.#told === message) return;
    this.#told = message;
    void vscode.window.showErrorMessage(message, "How to Install", "Open Settings", "Show Output").then(async (answer) => {
      if (answer === "How to Install") await vscode.env.openExternal(vscode.Uri.parse(HELP));
      if (answer === "Open Settings") await vscode.commands.executeCommand("workbench.action.openSettings", "torchlint.path");
      if (answer === "Show Output") this.channel.show();
    });
  }
}

function enabled(): boolean {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const settings =
    folders.length > 0
      ? folders.map((folder) => vscode.workspace.getConfiguration("torchlint", folder.uri))
      : [vscode.workspace.getConfiguration("torchlint")];
  return settings.some((each) => each.get<boolean>("enable", true));
}
