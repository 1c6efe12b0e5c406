import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { holds } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';

const KEPT_CHARS = 3_000;

/** Models of windows, cooldowns, breakers, retries, buckets, bisection and the rule index, against random histories. */
const PROPERTIES = [
  'libs/state/src/memory/memory-state',
  'libs/state/src/exact-sum',
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
  run: (lab) => jest(lab, lab.smoke ? PROPERTIES : [...PROPERTIES, ...PROPERTIES_WITH_SERVERS]),
};

const isolation: Fault = {
  id: 'F-24',
  title: 'isolation of tenants: routes, row level security, NATS permissions, addresses of webhooks',
  run: (lab) => jest(lab, ISOLATION),
};

const supplyChain: Fault = {
  id: 'F-30',
  title: 'lockfile: hashes, origin and licences of every package',
  run: (lab) => program(lab, [join(lab.root, 'scripts/check-lockfile.mjs')]),
};

/** The specs stand beside what they specify; here they are run with a seed that can be given again. */
function jest(lab: Lab, patterns: readonly string[]): Promise<void> {
  const seeded = join(lab.root, 'test/property-seed.mjs');
  return program(lab, [join(lab.root, 'scripts/test.mjs'), ...patterns, '--silent', '--setupFilesAfterEnv', seeded], {
    PROOF_PROPERTY_SEED: String(lab.seed % 2_147_483_647),
    PROOF_PROPERTY_RUNS: lab.smoke ? '200' : '1000',
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
