import { startTelemetry } from './telemetry.ts';

/** Loaded first, because http, pg and ioredis can only be instrumented before they are loaded. Tests opt in. */
if (process.env.JEST_WORKER_ID === undefined) startTelemetry(nameOf(process.argv[1]), process.env);

/** `services/ingest/dist/main.js` -> `ingest`. */
function nameOf(script: string | undefined): string {
  return /services[\\/]([\w-]+)[\\/]/.exec(script ?? '')?.[1] ?? 'process';
}
