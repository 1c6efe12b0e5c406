import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { holds } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';

const KEPT_CHARS = 3_000;
/** Minimum number of runs per property. */
const RUNS = 1_000;
const SMOKE_RUNS = 200;

/**
 * Models of windows, cooldowns, breakers, retries, buckets, bisection and the rule index, tested with random histories.
 */
const PROPERTIES = [
  'libs/state/src/memory/memory-state',
  'libs/state/src/exact-numbers',
  'libs/guardrails/src/breaker/',
  'libs/guardrails/src/evaluation/fold',
  'libs/guardrails/src/rules/rule-book',
  'libs/guardrails/src/windows/sketch',
  'libs/runs/src/ledger',
  'services/action-dispatcher/src/deliveries/retry-schedule',
  'services/action-dispatcher/src/destinations/breaker',
  'services/run-tracking/src/recording/event-recorder',
  'services/guardrail-evaluator/src/evaluation/crashes',
  'services/ingest/src/sanitise',
];
/** Each step is a round trip to Redis, so these use their own number of runs. */
const PROPERTIES_WITH_SERVERS = ['libs/state/src/redis/redis-state'];
const ISOLATION = [
  'services/query/test/isolation',
  'libs/database/src/row-level-security',
  'libs/messaging/src/nats/tenant-permissions',
  'libs/egress/src/',
];

const properties: Fault = {
  id: 'F-22',
  title: 'property tests: windows, cooldowns, breakers, schedules, buckets, bisection, rule index',
  smoke: true,
  async run(lab) {
    await jest(lab, PROPERTIES, lab.smoke ? SMOKE_RUNS : RUNS);
    if (!lab.smoke) await jest(lab, PROPERTIES_WITH_SERVERS, 1);
  },
};

const isolation: Fault = {
  id: 'F-24',
  title: 'isolation of tenants: routes, row level security, NATS permissions, addresses of webhooks',
  run: (lab) => jest(lab, ISOLATION, RUNS),
};

const supplyChain: Fault = {
  id: 'F-30',
  title: 'lockfile: hashes, origin and licences of every package',
  run: (lab) => program(lab, [join(lab.root, 'scripts/check-lockfile.mjs')]),
};

/** Runs specs of the platform with a seed that can be repeated. */
function jest(lab: Lab, patterns: readonly string[], leastRuns: number): Promise<void> {
  return program(lab, [join(lab.root, 'scripts/test.mjs'), ...patterns, '--silent'], {
    PROOF_PROPERTY_SEED: String(lab.seed % 2_147_483_647),
    PROOF_PROPERTY_RUNS: String(leastRuns),
  });
}

async function program(lab: Lab, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: lab.root, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_CHARS);
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  const summary = /^Tests: .*$/m.exec(output)?.[0] ?? output.trim().split('\n').at(-1) ?? '';
  lab.note(summary);
  if (code !== 0) lab.note(output);
  lab.check(holds(args.length > 1 ? 'specs' : 'check', code === 0, `exit ${code}: ${summary}`, 'exit 0'));
}

export const SPECS = [properties, isolation, supplyChain];
