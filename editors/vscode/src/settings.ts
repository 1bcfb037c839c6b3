/** The settings of the server, as it reads them. */

import { expand, type Values } from "./variables";

/** The settings that only this extension reads. */
const OWN = new Set(["path", "interpreter", "trace"]);

/** The settings for the server: without those of the extension, and with variables replaced. */
export function forServer(settings: Readonly<Record<string, unknown>>, values: Values): Record<string, unknown> {
  const entries = Object.entries(settings).filter(([name]) => !OWN.has(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, name === "configuration" ? file(value, values) : value]));
}

function file(value: unknown, values: Values): unknown {
  if (typeof value !== "string") return value;
  return value.trim() === "" ? null : expand(value, values);
}
