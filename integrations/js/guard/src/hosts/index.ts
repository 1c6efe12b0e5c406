import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { geminiCli } from './gemini-cli.ts';
import { kimiCode } from './kimi-code.ts';
import type { HostContract, HostId } from './host.ts';
import { opencode } from './opencode.ts';
import { qwenCode } from './qwen-code.ts';

export const HOSTS: Readonly<Record<HostId, HostContract>> = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
  'qwen-code': qwenCode,
  'copilot-cli': copilotCli,
  'kimi-code': kimiCode,
  opencode,
};

export function isHostId(name: string): name is HostId {
  return Object.hasOwn(HOSTS, name);
}

export type VersionMatch = 'tested' | 'newer' | 'older' | 'unknown';

/** Compares the version that a binary printed with the tested range. */
export function matchVersion({ tested }: HostContract, version: string | undefined): VersionMatch {
  const given = numbersOf(version ?? '');
  if (given === undefined) return 'unknown';
  if (compare(given, numbersOf(tested.from) ?? []) < 0) return 'older';
  return compare(given, numbersOf(tested.before) ?? []) < 0 ? 'tested' : 'newer';
}

function numbersOf(version: string): number[] | undefined {
  return /\d+\.\d+\.\d+/.exec(version)?.[0].split('.').map(Number);
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
