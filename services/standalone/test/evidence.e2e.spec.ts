import { createHmac, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { writeAcknowledgement } from '@agentlens/contracts/signed-acknowledgement';
import {
  checkInclusion,
  leafHash,
  openCheckpoint,
  openCosigner,
  readVerifierKey,
  rootFromLeaves,
  verifyBundle,
  Witness,
} from '@agentlens/log-verify';
import { Evidence, getLogCheckpoint, getLogInclusion, getLogKey, getLogTile, verifyLog } from '@agentlens/operations';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** An auditor with an address, a key of the API and the offline verifier. */
describe('evidence', () => {
  let platform: PlatformUnderTest;
  let reader: Client;
  let agent: Client;
  let admin: Client;
  let agentKey: string;

  const cosigner = openCosigner('witness.example/w1', randomBytes(32));
  let witness: Witness | undefined;
  const witnessServer = createServer((request, response) => {
    void text(request).then((body) => {
      const { status, body: said } = witness?.addCheckpoint(body) ?? { status: 404, body: '' };
      response.writeHead(status).end(said);
    });
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => witnessServer.listen(0, '127.0.0.1', resolve));
    const { port } = witnessServer.address() as AddressInfo;
    platform = await startEmbedded({
      env: { AGENTLENS_LOG_WITNESSES: `${cosigner.verifierKey} http://127.0.0.1:${port}` },
    });
    admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
    reader = new Client(platform, (await platform.keyOf('acme', 'read')).key);
    agentKey = (await platform.keyOf('acme', 'ingest', 'decide')).key;
    agent = new Client(platform, agentKey);
    const rule = {
      name: 'Payments need a human',
      conditionType: 'tool_name',
      conditionConfig: { value: 'pay*' },
      actionType: 'require_approval',
      actionConfig: { title: 'May it pay?' },
    };
    // Once, although the client asks again if an answer takes too long on a busy machine.
    await admin.send('POST', '/api/guardrails', JSON.stringify(rule), { 'idempotency-key': 'the-rule' });
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
    for (const name of ['pay_invoice', 'search', 'read_file'])
      await agent.post('/v1/runs/r1/evaluate', {
        ...{
          phase: 'tool.before',
          agentId: 'payer',
          tool: { name },
          args: { amount: 10 },
          tags: {},
          deadlineMs: 2_000,
        },
      });
  });
  afterAll(async () => {
    await platform?.stop();
    witnessServer.close();
  });

  const trusted = async () => [readVerifierKey((await reader.get('/api/log/key')).body.key)];

  /** Evidence of the run, once its three decisions and the approval are sealed. */
  const evidenceOfRun = (query = '') =>
    eventually(async () => {
      const { body } = await reader.get(`/api/runs/r1/evidence${query}`);
      expect(body.entries.length).toBeGreaterThanOrEqual(4);
      expect(body.pending).toBe(0);
      return body;
    });

  it('of a run is proven by the offline verifier', async () => {
    const verdict = verifyBundle(JSON.stringify(await evidenceOfRun()), { keys: await trusted() });
    expect(verdict).toMatchObject({ findings: [], subject: { kind: 'run', id: 'r1' } });
    expect(verdict.status).toMatch(/^proven/);
  });

  it('of a decision and of its approval is proven too', async () => {
    await evidenceOfRun();
    const { body } = await reader.get('/api/decisions?runId=r1');
    const asked = body.decisions.find(({ approvalId }: { approvalId?: string }) => approvalId !== undefined);
    for (const path of [`/api/decisions/${asked.id}/evidence`, `/api/approvals/${asked.approvalId}/evidence`]) {
      const evidence = (await reader.get(path)).body;
      const verdict = verifyBundle(JSON.stringify(evidence), { keys: await trusted() });
      expect({ path, findings: verdict.findings, status: verdict.status }).toEqual({
        ...{ path, findings: [] },
        status: expect.stringMatching(/^proven/),
      });
    }
    const { index, size, leaf, proof, text } = (await reader.get(`/api/log/inclusion?id=${asked.id}`)).body;
    const checkpoint = openCheckpoint(text.slice(text.indexOf('\n\n') + 2), await trusted());
    const hashes = proof.map((hash: string) => Buffer.from(hash, 'base64'));
    expect(checkpoint.size).toBe(size);
    expect(checkInclusion(index, size, leafHash(leaf), hashes, checkpoint.root)).toBe(true);
  });

  it('contains a checkpoint that was kept', async () => {
    await evidenceOfRun();
    const kept = (await reader.get('/api/log/checkpoint')).body;
    await agent.post('/v1/runs/r2/evaluate', {
      ...{ phase: 'tool.before', agentId: 'payer', tool: { name: 'search' }, tags: {}, deadlineMs: 2_000 },
    });
    await eventually(async () => {
      expect((await reader.get('/api/log/checkpoint')).body.size).toBeGreaterThan(kept.size);
    });
    const evidence = await evidenceOfRun(`?since=${kept.size}`);
    const verdict = verifyBundle(JSON.stringify(evidence), { keys: await trusted(), since: kept.note });
    expect(verdict).toMatchObject({ findings: [] });
  });

  it('of an order proves which instance stopped, by the secret of its connection', async () => {
    const listening = new AbortController();
    const path = '/v1/control/stream?agentId=payer&instanceId=one';
    const stream = await fetch(`${platform.addressFor('GET', path)}${path}`, {
      headers: { authorization: `Bearer ${agentKey}` },
      signal: listening.signal,
    });
    const acknowledging = acknowledgeOrders(stream, (id, signature) =>
      agent.post(`/v1/control/${id}/ack`, { agentId: 'payer', instanceId: 'one', signature }),
    );
    const order = { scope: 'agent', id: 'payer', reason: 'enough', waitMs: 5_000 };
    const killed = (await admin.post('/api/control', { ...order, state: 'killed' })).body;
    listening.abort();
    await acknowledging;
    expect(killed).toMatchObject({ acknowledged: 1 });

    const evidence = await eventually(async () => {
      const { body } = await reader.get(`/api/control/${killed.order.id}/evidence`);
      expect(body.entries).toHaveLength(2);
      return body;
    });
    const verdict = verifyBundle(JSON.stringify(evidence), { keys: await trusted() });
    expect(verdict).toMatchObject({ status: 'proven', findings: [], subject: { kind: 'order' } });
    const payloads = evidence.entries.map(({ payload }: { payload: string }) => JSON.parse(payload));
    expect(payloads).toEqual([
      { control: expect.objectContaining({ orderId: killed.order.id, state: 'killed' }) },
      {
        ack: {
          ...{ directiveId: killed.order.id, agentId: 'payer', instanceId: 'one', acknowledgedAt: expect.any(String) },
          signature: { connection: expect.any(String), version: 1, mac: expect.stringMatching(/^[0-9a-f]{64}$/) },
        },
      },
    ]);
    await admin.post('/api/control', { ...order, state: 'running', waitMs: 0 });
  });

  it('is in the log that tools for C2SP tiles read', async () => {
    await evidenceOfRun();
    const get = async (path: string, client = reader) => {
      const answer = await client.fetch(path);
      return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const { headers, bytes } = await get('/log/checkpoint');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const checkpoint = openCheckpoint(bytes.toString(), await trusted());
    expect(checkpoint.size).toBeLessThan(256);

    const bundle = await get(`/log/tile/entries/000.p/${checkpoint.size}`);
    expect(bundle.headers.get('content-type')).toBe('application/octet-stream');
    expect(bundle.headers.get('cache-control')).toContain('immutable');
    const leaves: string[] = [];
    for (let at = 0; at < bundle.bytes.length; ) {
      const end = at + 2 + bundle.bytes.readUInt16BE(at);
      leaves.push(bundle.bytes.toString('utf8', at + 2, end));
      at = end;
    }
    const hashes = leaves.map(leafHash);
    expect(
      rootFromLeaves(
        hashes.length,
        hashes.map((hash, index) => ({ index, hash })),
        [],
      ),
    ).toEqual(checkpoint.root);
    expect((await get(`/log/tile/0/000.p/${checkpoint.size}`)).bytes).toEqual(Buffer.concat(hashes));
    for (const path of ['0/000', '0/000.p/255', '1/000.p/1', '0/001.p/1', '0/0', 'entries/000'])
      expect({ path, status: (await get(`/log/tile/${path}`)).status }).toEqual({ path, status: 404 });
    const stranger = new Client(platform, (await platform.keyOf('globex', 'read')).key);
    expect((await get('/log/checkpoint', stranger)).bytes.toString()).not.toContain(checkpoint.origin);
    expect((await get('/log/checkpoint', new Client(platform, 'none'))).status).toBe(401);
  });

  it('agrees with the database', async () => {
    await evidenceOfRun();
    const { body } = await reader.post('/api/log/verify', {});
    expect(body).toMatchObject({ findings: [], erased: 0 });
    expect(body.checked).toBeGreaterThan(4);
  });

  it('answers as its schemas document', async () => {
    const evidence = await evidenceOfRun();
    expect(Evidence.strict().parse(evidence)).toEqual(evidence);
    // The first entry is a decision or the change of the approval, whichever was sealed first.
    const { kind, id } = JSON.parse(evidence.entries[0].leaf);
    const answers = [
      [getLogKey, await reader.get('/api/log/key')],
      [getLogCheckpoint, await reader.get('/api/log/checkpoint')],
      [getLogTile, await reader.get('/api/log/tiles/0/0')],
      [getLogInclusion, await reader.get(`/api/log/inclusion?kind=${kind}&id=${id}`)],
      [verifyLog, await reader.post('/api/log/verify', {})],
    ] as const;
    for (const [{ response }, { body }] of answers) expect(response.strict().parse(body)).toEqual(body);
  });

  it('stays valid when content is erased, and the content is gone', async () => {
    await evidenceOfRun();
    const start = (sessionId: string, externalId: string) => ({
      ...{ sessionId, agentId: 'payer', eventType: 'session_started', timestamp: new Date().toISOString() },
      payload: { actor: { externalId } },
    });
    await agent.post('/api/events', { events: [start('of-ann', 'ann'), start('deleted', 'ben')] });
    for (const runId of ['of-ann', 'deleted']) {
      await eventually(async () => expect((await reader.get(`/api/runs/${runId}`)).status).toBe(200));
      await agent.post(`/v1/runs/${runId}/evaluate`, {
        ...{ phase: 'tool.before', agentId: 'payer', tool: { name: 'search' }, args: { q: `secret of ${runId}` } },
        ...{ tags: {}, deadlineMs: 2_000 },
      });
    }
    const evidenceOf = (runId: string, query = '') =>
      eventually(async () => {
        const { body } = await reader.get(`/api/runs/${runId}/evidence${query}`);
        expect(body.entries.length).toBeGreaterThanOrEqual(1);
        return body;
      });
    const kept = { ann: await evidenceOf('of-ann'), deleted: await evidenceOf('deleted') };
    expect(JSON.stringify(kept)).toContain('secret of of-ann');
    const checkpoint = (await reader.get('/api/log/checkpoint')).body;

    const erasure = (await admin.post('/api/erasures', { actorId: 'ann' })).body;
    await agent.post('/v1/runs/deleted/end', { agentId: 'payer', status: 'success' });
    await eventually(async () => expect((await admin.delete('/api/runs/deleted')).status).toBe(200));
    await eventually(
      async () => {
        expect((await admin.get(`/api/erasures/${erasure.id}`)).body).toMatchObject({ state: 'finished', runs: 1 });
        expect((await reader.get('/api/runs/deleted/evidence')).status).toBe(404);
        const { body } = await reader.post('/api/log/verify', {});
        expect(body).toMatchObject({ findings: [] });
        expect(body.erased).toBeGreaterThan(0);
      },
      { timeoutMs: 60_000 },
    );

    const keys = await trusted();
    // What was kept before is as valid as it was, and the log still contains the log of that time.
    for (const bundle of Object.values(kept))
      expect(verifyBundle(JSON.stringify(bundle), { keys })).toMatchObject({ status: 'proven', findings: [] });
    const now = await evidenceOf('of-ann', `?since=${checkpoint.size}`);
    expect(verifyBundle(JSON.stringify(now), { keys, since: checkpoint.note })).toMatchObject({
      status: 'proven, parts withheld',
      findings: [],
    });
    expect(JSON.stringify(now)).not.toContain('secret of');
  });

  it.each([
    ['/api/log/consistency?from=0', 400],
    ['/api/log/consistency?from=999999', 400],
    ['/api/log/consistency?from=x', 400],
    ['/api/log/inclusion?id=unknown', 404],
    ['/api/log/tiles/0/999999', 404],
    ['/api/log/tiles/9/0', 400],
    ['/api/runs/unknown/evidence', 404],
    ['/api/runs/r1/evidence?since=0', 400],
  ])('answers %s with %i', async (path, status) => {
    await evidenceOfRun();
    expect((await reader.get(path)).status).toBe(status);
  });

  it('of another tenant does not exist', async () => {
    await evidenceOfRun();
    const other = new Client(platform, (await platform.keyOf('globex', 'read')).key);
    expect((await other.get('/api/runs/r1/evidence')).status).toBe(404);
    // It has a log of its own, once its key is in there.
    const [key, { body }] = [(await reader.get('/api/log/key')).body.key, await other.get('/api/log/key')];
    expect(body.key).not.toBe(key);
    const mine = (await reader.get('/api/log/checkpoint')).body.note;
    expect((await other.get('/api/log/checkpoint')).body.note).not.toBe(mine);
  });

  it('is cosigned by the witness of the settings', async () => {
    const key = await trusted();
    // Its first question comes some seconds after a start; by then the log is there.
    witness = new Witness({ cosigner, logs: key, state: {}, store: () => undefined, nowMs: Date.now });
    await evidenceOfRun();
    await platform.restart();
    const evidence = await eventually(async () => {
      const body = await evidenceOfRun();
      expect(body.checkpoint).toContain(`— ${cosigner.name} `);
      return body;
    });
    const witnesses = [readVerifierKey(cosigner.verifierKey)];
    const verdict = verifyBundle(JSON.stringify(evidence), { keys: key, witnesses });
    expect(verdict).toMatchObject({ findings: [], isWitnessed: true, witnesses: [{ name: cosigner.name }] });
  });
});

interface Frame {
  readonly id: string;
  readonly secret: string;
  readonly version: number;
}

/** Reads a control stream like an SDK, and acknowledges its orders with the secret that the stream began with. */
async function acknowledgeOrders(
  stream: Response,
  acknowledge: (id: string, signature: object) => Promise<unknown>,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  let connection: Frame | undefined;
  try {
    for await (const chunk of stream.body ?? []) {
      const frames = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const [, event] = /^event: (.*)$/m.exec(frame) ?? [];
        const data = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '{}') as Frame;
        if (event === 'connection') connection = data;
        if (event !== 'order' || connection === undefined) continue;
        const order = { directiveId: data.id, agentId: 'payer', instanceId: 'one', version: data.version };
        const text = writeAcknowledgement(order);
        const mac = createHmac('sha256', Buffer.from(connection.secret, 'hex')).update(text).digest('hex');
        await acknowledge(data.id, { connection: connection.id, version: data.version, mac });
      }
    }
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) throw error;
  }
}
