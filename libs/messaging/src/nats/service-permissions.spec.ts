import { readFileSync } from 'node:fs';
import { BUS_ACCESS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { permissionsOf } from './service-permissions.testing.ts';

const file = readFileSync(new URL('../../../../deploy/nats/server.conf', import.meta.url), 'utf8');

function shipped(service: string) {
  const block = file.slice(file.indexOf(`user: "${service}"`));
  const list = (kind: string) => {
    const [, items = ''] = new RegExp(`${kind}: \\{ allow: \\[([^\\]]*)\\]`).exec(block) ?? [];
    return [...items.matchAll(/"([^"]+)"/g)].map(([, subject]) => subject);
  };
  return { publish: list('publish'), subscribe: list('subscribe') };
}

describe('users in deploy/nats/server.conf', () => {
  it.each(Object.entries(BUS_ACCESS))('give %s exactly the permissions of the catalog', (service, access) => {
    expect(shipped(service)).toEqual(permissionsOf(service, access));
  });

  it('let only the platform user create, change, purge or delete a stream', () => {
    const allowed = Object.entries(BUS_ACCESS).flatMap(([service, access]) => permissionsOf(service, access).publish);
    expect(allowed.filter((subject) => /^(>|\$JS\.(>|API\.(>|STREAM\.(?!INFO|MSG\.GET))))/.test(subject))).toEqual([]);
  });
});
