import { dirname, join } from 'node:path';
import { CommandError } from '../command-error.ts';
import { readJsonFile } from './json-file.ts';

/** Kept with a project, also in version control. */
const PROJECT_FILE = '.agentlens.json';

/**
 * What the nearest project file, here or above, chooses. It names a profile and nothing else: a file that came with
 * somebody's repository must not say which address gets the user's key.
 */
export function readProjectFile(folder: string): { readonly profile?: string } {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, PROJECT_FILE);
    const content = readJsonFile(file);
    if (content !== undefined) return checked(file, content);
    if (dirname(at) === at) return {};
  }
}

function checked(file: string, content: unknown): { readonly profile?: string } {
  const fields = typeof content === 'object' && content !== null ? Object.entries(content) : [];
  for (const [name, value] of fields) {
    if (name === 'profile' && typeof value === 'string') continue;
    throw new CommandError(
      `${file}: "${name}" cannot stand here. The file may name a profile: {"profile": "staging"}`,
      {
        hint: 'Addresses and keys belong to a profile of the user: agentlens login',
      },
    );
  }
  return Object.fromEntries(fields);
}
