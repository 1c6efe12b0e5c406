import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventIngestor } from '../src/event-ingestor.ts';
import { heldBack } from '../src/stages.ts';
import { type Gateway, startGateway } from './gateway.ts';

describe('requests of a tenant whose queue is full', () => {
  let gateway: Gateway;
  beforeEach(async () => {
    gateway = await startGateway();
    jest.spyOn(gateway.app.get(EventIngestor), 'refuseIfFull').mockImplementation((tenantId) => {
      if (tenantId === 'acme') throw heldBack(1_000);
    });
  });
  afterEach(() => gateway.close());

  /** A body that gets 400 when it is read. */
  function send(url: string, key: keyof Gateway['keys'] = 'ingest') {
    const headers = { authorization: `Bearer ${gateway.keys[key]}`, 'content-type': 'application/json' };
    return gateway.inject({ method: 'POST', url, headers, payload: '{"events": [' });
  }

  it.each(['/api/events', '/v1/runs/events'])('are rejected unread at %s', async (url) => {
    expect(await send(url)).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  });

  it('are read if they hold no batch, or belong to another tenant', async () => {
    expect(await send('/v1/runs/r1/heartbeat', 'agent')).toMatchObject({ status: 400 });
    expect(await send('/api/events', 'foreign')).toMatchObject({ status: 400 });
  });

  it('are rejected for their key first', async () => {
    expect(await send('/api/events', 'reader')).toMatchObject({ status: 403 });
    expect(await send('/v1/runs/events', 'revoked')).toMatchObject({ status: 401 });
  });
});
