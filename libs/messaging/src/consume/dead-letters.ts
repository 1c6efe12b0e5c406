import { type DeadLetter, deadLetters } from '@agentlens/contracts';
import type { BusLogger, DeadLetterPage, EventBus, RawMessage, Received } from '../event-bus.ts';
import { parseMessage } from './parse-message.ts';
import { readRange } from './read-range.ts';

/** Operations that an adapter provides for dead letters. */
interface DeadLetterAccess {
  readonly watch: EventBus['watch'];
  /** Publishes the letter's body again, for its group only. */
  readonly resend: (letter: DeadLetter) => Promise<unknown>;
  readonly remove: (sequence: number) => Promise<unknown>;
}

async function allLetters(access: DeadLetterAccess, withinMs?: number): Promise<Received<DeadLetter>[]> {
  const letters: Received<DeadLetter>[] = [];
  await readRange(access, deadLetters, { after: 0, withinMs }, (letter) => letters.push(letter));
  return letters;
}

/** @throws BusUnavailable */
export async function listDeadLetters(
  access: DeadLetterAccess,
  group?: string,
  withinMs?: number,
): Promise<readonly DeadLetter[]> {
  const letters = (await allLetters(access, withinMs)).map((letter) => letter.value);
  return group === undefined ? letters : letters.filter((letter) => letter.group === group);
}

/**
 * Republishes a letter, then removes it. A crash in between leaves a duplicate letter, never a lost one. @throws
 * BusUnavailable
 */
export async function redriveDeadLetter(access: DeadLetterAccess, group: string, messageId: string): Promise<boolean> {
  const letters = (await allLetters(access)).filter(
    ({ value }) => value.group === group && value.messageId === messageId,
  );
  const newest = letters.at(-1);
  if (!newest) return false;
  await access.resend(newest.value);
  for (const letter of letters) await access.remove(letter.sequence);
  return true;
}

/** Parses a dead letter. Returns an empty array and logs an error if it is malformed. */
export function parseLetter(message: RawMessage, logger: BusLogger): DeadLetterPage['letters'] {
  const parsed = parseMessage(deadLetters, message);
  if (parsed.ok) return [parsed.message];
  logger.error({ sequence: message.sequence, reason: parsed.reason }, 'skipped malformed dead letter');
  return [];
}
