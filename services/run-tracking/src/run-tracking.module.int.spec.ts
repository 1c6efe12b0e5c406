import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentEvents } from '@agentlens/contracts';
import { createHttpApp, loadConfig, openPlatform, startApp } from '@agentlens/platform';
import { aBatch, anEvent, freshDatabase } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { RunTrackingModule } from './index.ts';

describe('RunTrackingModule', () => {
  it('starts and stops with its application', async () => {
    const fresh = await freshDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'agentlens-run-tracking-'));
    const environment = { DATABASE_URL: fresh.url, AGENTLENS_DATA_DIR: dataDir, AGENTLENS_LOG_LEVEL: 'silent' };
    const platform = await openPlatform(loadConfig('standalone', environment));
    const application = await createHttpApp(platform, [RunTrackingModule.register(platform)]);
    await startApp(application);

    await platform.bus.publish(agentEvents, aBatch({ events: [anEvent({ runId: 'run', agentName: 'Ann' })] }));
    const run = await platform
      .database('run-tracking')
      .db.selectFrom('runs')
      .select(['run_id', 'agent_name', 'status', 'event_count'])
      .executeTakeFirst();

    expect(run).toEqual({ run_id: 'run', agent_name: 'Ann', status: 'running', event_count: 1 });
    expect(await platform.health.report()).toMatchObject({ checks: { 'event-storage': { ok: true } } });
    await application.close();
    await platform.close();
    await Promise.all([fresh.drop(), rm(dataDir, { recursive: true, force: true })]);
  });
});
