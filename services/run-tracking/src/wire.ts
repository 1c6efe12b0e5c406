import { type Platform, PriceBooks } from '@agentlens/platform';
import { ActivityRetention } from './activity.ts';
import { Auditor } from './audit/auditor.ts';
import { DecisionTracker } from './decisions/decision-tracker.ts';
import { RunSweeper } from './life/run-sweeper.ts';
import { LogChecker } from './log/log-checker.ts';
import { Sealer } from './log/sealer.ts';
import { Repricer } from './prices/repricer.ts';
import { ActorEraser } from './removal/actor-eraser.ts';
import { ContentRetention } from './removal/content-retention.ts';
import { RunDeleter } from './removal/run-deleter.ts';
import { RunTracker } from './run-tracker.ts';

export type RunTrackingPorts = Pick<
  Platform,
  'bus' | 'clock' | 'config' | 'database' | 'evaluationTally' | 'health' | 'logger' | 'runContexts' | 'secrets'
>;

/** In one process the agent's request waits until its events are stored, so nothing is held back there. */
const PACE_MS = { memory: 0, nats: 200 } as const;

/** A part of the service that works in the background. */
interface Part {
  start(): Promise<void> | void;
  stop(): Promise<void>;
}

/** The parts of the service that work in the background. */
export class RunTracking {
  constructor(private readonly parts: readonly Part[]) {}

  async start(): Promise<void> {
    for (const part of this.parts) await part.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.stop()));
  }
}

/** Builds the service: every class once, with its collaborators. Starts nothing. */
export function wireRunTracking({ bus, clock, config, evaluationTally, health, ...platform }: RunTrackingPorts) {
  const database = platform.database('run-tracking');
  const logger = platform.logger.child({ service: 'run-tracking' });
  const ports = { bus, database, clock, health, logger };
  const { retentionDays, auditEnabled, otlp } = config;

  const tracker = new RunTracker({ ...ports, retentionDays, paceMs: PACE_MS[config.bus.kind] });
  const decisions = new DecisionTracker({ ...ports, retentionDays });
  const sweeper = new RunSweeper({
    ...ports,
    quietSeconds: otlp.quietSeconds,
    overdueProgress: health.watchLoop('overdue-runs'),
    killedProgress: health.watchLoop('killed-runs'),
  });
  const deleter = new RunDeleter({ ...ports, progress: health.watchLoop('run-deletions') });
  const eraser = new ActorEraser({
    ...ports,
    runContexts: platform.runContexts,
    progress: health.watchLoop('erasures'),
  });
  const contents = new ContentRetention(ports);
  const prices = new PriceBooks(ports);
  const repricer = new Repricer({
    ...ports,
    prices,
    now: () => clock.now(),
    progress: health.watchLoop('reprices'),
  });
  const activity = new ActivityRetention(ports);
  const sealer = new Sealer({ ...ports, secrets: platform.secrets, progress: health.watchLoop('log-sealing') });
  const checker = new LogChecker({ ...ports, progress: health.watchLoop('log-checks') });
  const auditor = auditEnabled ? [new Auditor({ ...ports, evaluationTally })] : [];
  const parts = [
    tracker,
    decisions,
    sweeper,
    deleter,
    eraser,
    contents,
    prices,
    repricer,
    activity,
    sealer,
    checker,
    ...auditor,
  ];
  return { running: new RunTracking(parts), tracker, decisions, deleter, eraser, repricer };
}
