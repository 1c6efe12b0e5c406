import { findMember, isList, isObject, type JsonRange, walkList } from './json-walk.ts';
import type { ScannedObject } from './scan-object.ts';

/** A longer part is named by its length, its beginning and its end. */
const NAMED_BYTES = 64 * 1024;
/** Texts of the system and the developer before the first message of the user. */
const MAX_OPENING = 32;

const SYSTEM = ['system', 'instructions', 'systemInstruction', 'system_instruction'] as const;
/** Members whose lists have roles, in the order in which they are looked for. */
const WITH_ROLES = ['messages', 'input'] as const;
const OF_GEMINI = ['contents', 'content'] as const;

/**
 * What stays equal while a conversation grows: its system text and the first message of the user. Programs that name no
 * run are grouped by it. Reads the opening only, so that the work does not grow with the conversation.
 */
export function readConversation(body: Uint8Array, { members }: ScannedObject): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const find = (names: readonly string[]) =>
    names.map((name) => members.get(name)).find((member) => member !== undefined);
  const name = (range: JsonRange) => nameText(bytes, range);
  const system = find(SYSTEM);
  const withRoles = find(WITH_ROLES);
  const told = withRoles ?? find(OF_GEMINI);
  const listed = told !== undefined && isList(bytes, told);
  const opening = listed
    ? findOpening(bytes, told, withRoles !== undefined)
    : [told].filter((one) => one !== undefined);
  return JSON.stringify([system === undefined ? null : name(system), opening.map(name)]);
}

/** The first entry, or all before and including the first message of the user, without answers of the model. */
function findOpening(bytes: Buffer, list: JsonRange, hasRoles: boolean): readonly JsonRange[] {
  const opening: JsonRange[] = [];
  let entries = 0;
  for (const entry of walkList(bytes, list)) {
    const role = hasRoles ? readRole(bytes, entry) : 'user';
    if (role !== 'assistant') opening.push(entry);
    entries += 1;
    if (role === 'user') return opening;
    if (entries === MAX_OPENING) return opening;
  }
  return [];
}

function readRole(bytes: Buffer, entry: JsonRange): string | undefined {
  const role = isObject(bytes, entry) ? findMember(bytes, entry, 'role') : undefined;
  return role === undefined ? undefined : bytes.toString('utf8', role.start + 1, role.end - 1);
}

function nameText(bytes: Buffer, { start, end }: JsonRange): string {
  if (end - start <= NAMED_BYTES) return bytes.toString('utf8', start, end);
  const half = NAMED_BYTES / 2;
  const [head, tail] = [bytes.toString('utf8', start, start + half), bytes.toString('utf8', end - half, end)];
  return `${end - start}:${head}${tail}`;
}
