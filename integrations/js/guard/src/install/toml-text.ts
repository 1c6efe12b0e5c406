import { JsonTextError } from './json-text.ts';

type TomlTable = Readonly<Record<string, string | number>>;

/**
 * Appends tables to an array of tables at the end of a TOML text, which else stays as it is.
 *
 * @throws JsonTextError if the text says the array as a value, which TOML does not let a table extend
 */
export function appendTables(text: string, name: string, tables: readonly TomlTable[]): string {
  const asValue = new RegExp(`^[ \\t]*${name}[ \\t]*=`, 'm').exec(text);
  if (asValue !== null && !/^[ \t]*\[/m.test(text.slice(0, asValue.index)))
    throw new JsonTextError(`write ${name} as [[${name}]] tables, so that one can be added`, text, asValue.index);
  return text + tables.map((table) => `\n[[${name}]]\n${membersOf(table)}`).join('');
}

function membersOf(table: TomlTable): string {
  // A basic string of TOML has the escapes of JSON.
  return Object.entries(table)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join('');
}

/** Removes the tables of an array for which `isOurs` holds, with the line end that `appendTables` put before them. */
export function removeTables(text: string, name: string, isOurs: (table: string) => boolean): string {
  const tables = text.split(/^(?=[ \t]*\[)/m);
  let kept = '';
  let removed = false;
  for (const table of tables) {
    if (table.trimStart().startsWith(`[[${name}]]`) && isOurs(table)) {
      if (!removed) kept = kept.replace(/\n$/, '');
      removed = true;
      continue;
    }
    // What follows a removed table keeps a line of its own.
    kept += removed && kept !== '' && !kept.endsWith('\n') ? `\n${table}` : table;
    removed = false;
  }
  return kept;
}

/** Removes the states of hooks in a file from a `config.toml`, and the table of states if it has nothing else. */
export function removeTrust(toml: string, hooksFile: string): string {
  const lines = toml.split(/(?<=\n)/);
  const kept: string[] = [];
  let isOurs = false;
  for (const line of lines) {
    if (/^\s*\[/.test(line)) isOurs = line.includes('hooks.state.') && line.includes(`${hooksFile}:`);
    if (!isOurs) kept.push(line);
  }
  return withoutEmptyStates(kept);
}

/** Codex heads the states of hooks with a table of their own, which means nothing once it is empty. */
function withoutEmptyStates(lines: readonly string[]): string {
  const text = lines.join('');
  const head = lines.findIndex((line) => /^\s*\[hooks\.state\]\s*$/.test(line));
  if (head < 0 || lines.some((line) => /^\s*\[hooks\.state\./.test(line))) return text;
  const length = lines.slice(head + 1).findIndex((line) => line.trim() !== '');
  const end = length < 0 ? lines.length : head + 1 + length;
  const next = lines[end];
  if (next !== undefined && !/^\s*\[/.test(next)) return text;
  return [...lines.slice(0, head), ...lines.slice(end)].join('');
}
