import { startTelemetry } from './telemetry.ts';

/**
 * Loaded before anything else of the platform, because http, pg and ioredis can only be observed if this comes first.
 * A test process observes only when it asks to.
 */
if (process.env.JEST_WORKER_ID === undefined) startTelemetry(nameOf(process.argv[1]), process.env);

/** `services/ingest/dist/main.js` -> `ingest`. */
function nameOf(script: string | undefined): string {
  return /services[\\/]([\w-]+)[\\/]/.exec(script ?? '')?.[1] ?? 'process';
}
