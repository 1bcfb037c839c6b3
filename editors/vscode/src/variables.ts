/** Variables in settings: `${workspaceFolder}`, `${workspaceFolder:NAME}`, `${userHome}`, `${env:NAME}`, and a leading `~`. */

export interface Folder {
  name: string;
  path: string;
}

export interface Values {
  home: string;
  environment: Readonly<Record<string, string | undefined>>;
  folders: readonly Folder[];
}

/** Replace the variables in a setting; `${workspaceFolder}` is the first folder. Unknown ones stay, so that a message shows them. */
export function expand(setting: string, values: Values): string {
  const text = setting.trim();
  const absolute = /^~(?=$|[/\\])/.test(text) ? values.home + text.slice(1) : text;
  return absolute.replace(/\$\{([^}]*)\}/g, (whole, name: string) => valueOf(name, values) ?? whole);
}

function valueOf(name: string, { home, environment, folders }: Values): string | undefined {
  if (name === "userHome") return home;
  if (name === "workspaceFolder") return folders[0]?.path;
  const [kind, argument] = name.split(/:(.*)/s, 2);
  if (kind === "env" && argument !== undefined) return environment[argument] ?? "";
  if (kind === "workspaceFolder") return folders.find((folder) => folder.name === argument)?.path;
  return undefined;
}
