import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../harness/time.ts';
import { atLeast, equal, holds } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { before, settle } from '../oracle.ts';
import type { Site } from '../site.ts';

/** Probability of a kill at each step. With four steps per batch, about one batch in a hundred. */
const SHARE = 0.003;
/** So that a short run has kills too. */
const SMOKE_SHARE = 0.01;
/** Load for this many seconds, extended up to the maximum while there were too few crashes. */
const PLAN = { seconds: 30, most: 180, crashes: 5 };
const SMOKE_PLAN = { seconds: 10, most: 60, crashes: 2 };
const RUNNING_DEADLINE_MS = 60_000;
/** Steps that each of them takes under any load. A step that was never seen was never tested. */
const VICTIMS = {
  'guardrail-evaluator': ['fetched', 'script ran', 'trigger published', 'acknowledged'],
  'run-tracking': ['fetched', 'stored', 'acknowledged'],
} as const;
const NAMES = Object.keys(VICTIMS) as (keyof typeof VICTIMS)[];
const PRELOAD = new URL('../preload/crash-points.ts', import.meta.url).href;

const crashPoints: Fault = {
  id: 'F-04',
  title: 'the evaluator and run-tracking are killed right after each of their steps',
  smoke: true,
  async run(lab) {
    const folder = await mkdtemp(join(tmpdir(), 'agentlens-crash-'));
    const switchFile = join(folder, 'on');
    const logOf = (name: string) => join(folder, `${name}.log`);
    const envOf = (name: string) => ({
      PROOF_CRASH_WHILE: switchFile,
      PROOF_CRASH_LOG: logOf(name),
      PROOF_CRASH_STEPS: stepsOf(logOf(name)),
      PROOF_CRASH_SEED: String(lab.seed),
      PROOF_CRASH_SHARE: String(lab.smoke ? SMOKE_SHARE : SHARE),
    });
    const serviceEnv = Object.fromEntries(NAMES.map((name) => [name, envOf(name)]));
    try {
      const site = await lab.freshSite({ nodeOptions: ['--import', PRELOAD], serviceEnv });
      await story(lab, site, switchFile, logOf);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function story(lab: Lab, site: Site, switchFile: string, logOf: (name: string) => string): Promise<void> {
  const was = await before(site);
  const { seconds, most, crashes: wanted } = lab.smoke ? SMOKE_PLAN : PLAN;
  const load = site.load(lab.seed, { eventsPerSecond: 1_000, seconds: most, batchSize: 20 });
  await writeFile(switchFile, '');
  const crashesOf = (name: string) => linesOf(logOf(name));
  let going = true;
  const supervisors = NAMES.map(async (name) => {
    const service = site.stack.service(name);
    while (going || !service.running) {
      // It may be killed again while it starts.
      if (!service.running) await service.start().catch(() => undefined);
      else await lab.sleep(25);
    }
  });
  await lab.sleep(seconds * 1_000);
  // A slow machine takes fewer steps in the same time.
  const enough = async () => {
    const crashes = await Promise.all(NAMES.map(crashesOf));
    return crashes.flat().length >= wanted ? true : undefined;
  };
  await until('enough crashes', enough, (most - seconds) * 1_000).catch(() => undefined);
  load.running.stop();
  await load.report;
  await rm(switchFile);
  // A service that answers after this is not about to be killed, because checking the switch and killing is one step.
  for (const name of NAMES) {
    const service = site.stack.service(name);
    const running = async () =>
      service
        .ready()
        .then(() => true)
        .catch(() => undefined);
    await until(`${name} to run`, running, RUNNING_DEADLINE_MS);
  }
  going = false;
  await Promise.all(supervisors);
  const crashes = await Promise.all(NAMES.map(crashesOf));
  for (const [i, name] of NAMES.entries()) {
    lab.note(`${name} was killed after: ${crashes[i]?.join(', ') || 'no step'}`);
  }
  const exits = crashes.flat().length;
  // Messages of a killed store are redelivered after their wait, possibly twice within the deadline.
  const settled = await settle(site, load, was, { exits });
  lab.check(...settled.checks, atLeast('crashes', wanted, exits));
  for (const name of NAMES) {
    const steps = new Set(await linesOf(stepsOf(logOf(name))));
    const unseen = VICTIMS[name].filter((step) => !steps.has(step));
    lab.check(holds(`steps of ${name} that were not seen`, unseen.length === 0, unseen.join(', ') || 'none', 'none'));
  }
  lab.measure('accepted', settled.report.acceptedEvents, 'events');
  lab.measure('crashes', exits, 'kills');
  lab.measure('drained after load', settled.drainMs, 'ms');
}

/** Log of the steps that a process took, next to the log of its kills. */
const stepsOf = (log: string) => `${log}.steps`;

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

const dispatcher: Fault = {
  id: 'F-05',
  title: 'the dispatcher is killed between sending a webhook and recording it',
  async run(lab) {
    const site = await lab.site();
    const was = await before(site);
    const service = site.stack.service('action-dispatcher');
    const load = site.load(lab.seed, { eventsPerSecond: 1_000, seconds: 20 });
    let kills = 0;
    let killing: Promise<unknown> = Promise.resolve();
    let nextKillAt = performance.now() + 2_000;
    site.receiver.answer((webhook, response) => {
      if (kills >= 4 || performance.now() < nextKillAt) {
        response.end();
        return;
      }
      kills += 1;
      nextKillAt = Number.POSITIVE_INFINITY;
      // Without a response, the sender dies without knowing the result.
      killing = service.kill('SIGKILL').then(async () => {
        response.destroy();
        lab.note(`SIGKILL action-dispatcher while it waited for the response to ${webhook.id}`);
        await service.start();
        nextKillAt = performance.now() + lab.between(1_000, 2_000);
      });
    });
    await load.report;
    await killing;
    site.receiver.answer();
    const settled = await settle(site, load, was, { receiptsPerWebhook: 2 });
    lab.check(...settled.checks, equal('kills', 4, kills));
    lab.check(holds('restarted', service.running, String(service.running), 'true'));
    lab.measure('drained after load', settled.drainMs, 'ms');
  },
};

export const CRASH_POINTS = [crashPoints, dispatcher];
