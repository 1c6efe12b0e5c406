import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventsOf, RECORDINGS, recordingOf, spansOf } from './recordings.testing.ts';
import { USAGE_SOURCES } from './usage-sources.ts';

const PAGE = join(import.meta.dirname, '../../../docs/usage-sources.md');
const START = '<!-- Written by: node scripts/write-usage-sources.mjs -->\n';
const END = '<!-- end -->';

/** The page as it is, and as it is made from the list and the recordings. */
export function readPage(): { readonly now: string; readonly made: string } {
  const now = readFileSync(PAGE, 'utf8');
  const [before, rest] = now.split(START);
  const after = rest?.slice(rest.indexOf(END));
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no place for its tables`);
  return { now, made: `${before}${START}\n${writeTables()}\n${after}` };
}

export function writePage(): void {
  writeFileSync(PAGE, readPage().made);
}

function writeTables(): string {
  return [
    ...['| Library, version | What it does | What AgentLens does |', '|---|---|---|'],
    ...USAGE_SOURCES.map(({ library, does, answer }) => `| ${library} | ${does} | ${answer} |`),
    '',
    'What arrived from each agent that was run with a scripted model, by its recording:',
    '',
    '| Recording | Scope | Model calls | With tokens | Cached | Reasoning |',
    '|---|---|---|---|---|---|',
    ...RECORDINGS.map(writeRecording),
    '',
  ].join('\n');
}

function writeRecording(agent: string): string {
  const recording = recordingOf(agent);
  const calls = readCalls(agent);
  const count = (has: (usage: NonNullable<(typeof calls)[number]['usage']>) => boolean) =>
    String(calls.filter(({ usage }) => usage !== undefined && has(usage)).length);
  const scopes = [...new Set(spansOf(recording).map(({ scope }) => `${scope.name} ${scope.version}`.trim()))];
  return `| ${[
    agent,
    // The spans of the program itself are no library's.
    scopes.filter((scope) => scope !== 'weather').join(', '),
    String(calls.length),
    count(({ inputTokens }) => inputTokens !== undefined),
    count(({ cacheReadTokens }) => cacheReadTokens !== undefined),
    count(({ reasoningTokens }) => reasoningTokens !== undefined),
  ].join(' | ')} |`;
}

/** The model calls of a recording that succeeded. */
export function readCalls(agent: string) {
  const facts = eventsOf(spansOf(recordingOf(agent))).map((event) => event.facts);
  return facts.filter(({ kind, isError }) => kind === 'llm.completed' && !isError);
}
