import { rulesChanged } from '@agentlens/contracts';
import { createMemoryBus } from '@agentlens/messaging';
import { eventually } from '@agentlens/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../log/create-logger.ts';
import { TenantSettingsCache } from './tenant-settings-cache.ts';

const AT = '2026-03-01T12:00:00.000Z';
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function settingsOver(table: Map<string, string>) {
  const bus = createMemoryBus();
  const broken = { away: false };
  const guarded = <T>(value: T): T => {
    if (broken.away) throw new Error('away');
    return value;
  };
  const settings = new TenantSettingsCache({
    ...{ name: 'things', bus, topic: rulesChanged, now: () => Date.parse(AT), pollMs: 3_600_000 },
    logger: createLogger({ name: 'test', level: 'silent' }),
    reader: {
      all: async () => guarded(new Map(table)),
      ofTenant: async (tenantId) => guarded(table.get(tenantId)),
      changedSince: async () => guarded([...table.keys(), 'gone']),
    },
  });
  closing.push(
    () => settings.stop(),
    () => bus.close(),
  );
  return { settings, bus, broken };
}

describe('TenantSettingsCache', () => {
  it('reads settings at the start and when a change is announced', async () => {
    const table = new Map([['acme', 'one']]);
    const { settings, bus } = await settingsOver(table);
    await settings.start();
    expect([settings.of('acme'), settings.of('globex')]).toEqual(['one', undefined]);
    table.set('globex', 'two');
    await bus.publish(rulesChanged, { tenantId: 'globex', version: 'v', at: AT });
    await eventually(() => expect(settings.of('globex')).toBe('two'));
  });

  it('finds missed announcements by polling, and keeps its settings if the poll fails', async () => {
    const table = new Map([
      ['acme', 'one'],
      ['gone', 'soon'],
    ]);
    const { settings, broken } = await settingsOver(table);
    await settings.start();
    table.set('acme', 'two');
    table.delete('gone');
    broken.away = true;
    await expect(settings.poll()).rejects.toThrow('away');
    expect(settings.of('acme')).toBe('one');
    broken.away = false;
    await settings.poll();
    expect([...settings.tenants]).toEqual(['acme']);
    expect(settings.of('acme')).toBe('two');
  });

  it('shares the read that an announcement caused, until the next change or if it failed', async () => {
    const table = new Map([['acme', 'one']]);
    const { settings, bus, broken } = await settingsOver(table);
    await settings.start();
    const announce = (version: string) => bus.publish(rulesChanged, { tenantId: 'acme', version, at: AT });
    table.set('acme', 'two');
    await announce('v2');
    await eventually(() => expect(settings.of('acme')).toBe('two'));
    table.set('acme', 'three');
    await settings.reload('acme', 'v2');
    expect(settings.of('acme')).toBe('two');
    await settings.reload('acme', 'v3');
    expect(settings.of('acme')).toBe('three');
    table.set('acme', 'four');
    broken.away = true;
    await announce('v4');
    await expect(settings.reload('acme', 'v4')).rejects.toThrow('away');
    broken.away = false;
    await settings.reload('acme', 'v4');
    expect(settings.of('acme')).toBe('four');
  });

  it('can be started again if the first attempt failed', async () => {
    const { settings, broken } = await settingsOver(new Map([['acme', 'one']]));
    broken.away = true;
    await expect(settings.start()).rejects.toThrow('away');
    broken.away = false;
    await settings.start();
    expect(settings.of('acme')).toBe('one');
  });
});
