import type { PermissionAnswer } from '../core/input-message.ts';
import { type Json, parseJson } from '../core/json.ts';
import type { PermissionRequest } from '../core/output-chunk.ts';

export type AskLine = (question: string) => Promise<string | null>;

/** Reads a human's answer to one request. Unclear answers are asked again; the end of the input counts as no. */
export async function askUser(request: PermissionRequest, ask: AskLine): Promise<PermissionAnswer> {
  const { requestId, inputHash } = request;
  for (;;) {
    const line = await ask('Allow? [y]es, [n]o, [s]ession, [a]lways, [e]dit: ');
    const word = line?.trim().toLowerCase();
    if (line === null || word === 'n' || word === 'no') return { requestId, inputHash, decision: 'deny' };
    if (word === 'y' || word === 'yes') return { requestId, inputHash, decision: 'allow' };
    if (word === 's') return { requestId, inputHash, decision: 'allow', remember: 'session' };
    if (word === 'a') return { requestId, inputHash, decision: 'allow', remember: 'always' };
    if (word !== 'e') continue;
    const edited = parseJson((await ask('The whole input as JSON: ')) ?? '');
    // Parsed from JSON; the tool's schema checks the rest.
    if (edited !== undefined) return { requestId, inputHash, decision: 'allow', editedInput: edited as Json };
  }
}
