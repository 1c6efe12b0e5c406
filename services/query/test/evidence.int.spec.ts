import {
  digestPayload,
  makeSigningKey,
  openSigner,
  signCheckpoint,
  writeLeaf,
  writePayload,
  writeVerifierKey,
} from '@agentlens/log';
import { readLeaves } from '@agentlens/log/testing';
import { openCheckpoint, openCosigner, readVerifierKey, verifyBundle } from '@agentlens/log-verify';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;

const wait = (kind: string, entryId: string, fields: object) =>
  api.insert('log_pending', { tenant_id: 'acme', kind, entry_id: entryId, at: NOW, ...fields });

/** Nothing seals here, so what waits for the log goes on waiting. */
beforeAll(async () => {
  api = await startOperatorApi();
  await wait('decision', 'd1', { run_id: 'r1' });
  await wait('approval', 'x1', { run_id: 'r2', payload: { approvalId: 'a1', status: 'open' } });
  await wait('control', 'x2', { payload: { orderId: 'o1', state: 'killed' } });
  await wait('ack', 'x3', { payload: { directiveId: 'o2', instanceId: 'one' } });
});
afterAll(() => api.close());

describe('evidence about facts that wait for the log', () => {
  it.each(['runs/r1', 'runs/r2', 'decisions/d1', 'approvals/a1', 'control/o1', 'control/o2'])(
    'of %s does not exist yet',
    async (subject) => {
      const { status, body, headers } = await api.get(`/api/${subject}/evidence`);
      expect({ status, code: body.code }).toEqual({ status: 409, code: 'not_sealed' });
      expect(headers['retry-after']).toBe('1');
    },
  );

  it.each(['runs/r3', 'decisions/d2', 'approvals/a2', 'control/o3'])(
    'of %s does not exist, and the answer says what the log contains',
    async (subject) => {
      const { status, body } = await api.get(`/api/${subject}/evidence`);
      expect(status).toBe(404);
      expect(body.error).toBe('Evidence not found');
      expect(body.hint).toMatch(/^The log has nothing about this (run|decision|approval|order)\. It records decisions/);
    },
  );

  it('is not of another tenant', async () => {
    expect((await api.get('/api/runs/r1/evidence', api.keys.foreign.key)).status).toBe(404);
  });

  it('will not come if sealing has stopped, and the answer says why', async () => {
    await api.insert('log_heads', { tenant_id: 'acme', log_id: 'log', broken: 'entry 3 has changed' });
    const { status, body } = await api.get('/api/runs/r1/evidence');
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'conflict' });
    expect(body.error).toContain('entry 3 has changed');
  });
});

describe('evidence with cosignatures of witnesses', () => {
  const tenant_id = 'globex';
  const ORIGIN = 'agentlens/log/globex';
  const RUNS = ['r8', 'r9', 'r9'];
  const signer = openSigner(makeSigningKey());
  const cosigner = openCosigner('witness.example/w1', makeSigningKey());
  const keys = [readVerifierKey(writeVerifierKey(ORIGIN, signer.publicKey))];
  const witnesses = [readVerifierKey(cosigner.verifierKey)];
  const salt = Buffer.alloc(16, 1);
  const entries = RUNS.map((id, index) => {
    const entry = index === 2 ? 2 : 1;
    const body = writePayload('approval', { approvalId: `a${index}` }, { id, entry });
    const leaf = {
      kind: 'approval',
      id: `x${index}`,
      at: NOW,
      digest: digestPayload(salt, body),
      writer: 'w#1',
    } as const;
    return { index, id: leaf.id, run: id, entry, body, leaf: writeLeaf(leaf) };
  });
  const get = (path: string) => api.get(path, api.keys.foreign.key);
  const evidenceOf = async (run: string, query = '') => (await get(`/api/runs/${run}/evidence${query}`)).body;
  const open = (note: string) => {
    const { size, signedBy } = openCheckpoint(note, [...keys, ...witnesses]);
    return { size, signedBy };
  };
  const both = [ORIGIN, cosigner.name];

  const sign = async (size: number) => {
    const root = await readLeaves(entries.slice(0, size).map(({ leaf }) => leaf)).root();
    const note = signCheckpoint({ origin: ORIGIN, size, root }, signer);
    await api.insert('log_checkpoints', { tenant_id, size, root, note, at: NOW });
    return note;
  };
  const cosign = (size: number, note: string) => {
    const line = cosigner.cosign(note.slice(0, note.indexOf('\n\n') + 1), 1_772_366_400).trimEnd();
    return api.insert('log_cosignatures', { tenant_id, witness: 'w1', size, line, at: NOW });
  };

  beforeAll(async () => {
    await api.insert('log_heads', { tenant_id, log_id: 'other', size: 3, checkpoint_size: 3 });
    for (const { index, id, run, entry, body, leaf } of entries) {
      const row = { tenant_id, index, kind: 'approval', entry_id: id };
      await api.insert('log_leaves', { ...row, leaf });
      await api.insert('log_payloads', { ...row, salt, body, run_id: run, run_entry: entry });
    }
    await cosign(2, await sign(2));
    await sign(3);
  });

  it('shows the cosigned checkpoint where it contains all that is asked about', async () => {
    const evidence = await evidenceOf('r8');
    expect(open(evidence.checkpoint)).toEqual({ size: 2, signedBy: both });
    expect(verifyBundle(JSON.stringify(evidence), { keys, witnesses, quorum: 1 })).toMatchObject({
      ...{ status: 'proven', isWitnessed: true, warnings: [] },
      witnesses: [{ name: cosigner.name, at: '2026-03-01T12:00:00.000Z' }],
    });
  });

  it('shows the newest checkpoint otherwise', async () => {
    const evidence = await evidenceOf('r9');
    expect(open(evidence.checkpoint)).toEqual({ size: 3, signedBy: [ORIGIN] });
    expect(verifyBundle(JSON.stringify(evidence), { keys, witnesses })).toMatchObject({
      ...{ status: 'proven', isWitnessed: false },
    });
    expect(open((await evidenceOf('r8', '?since=3')).checkpoint).size).toBe(3);
    expect(open((await evidenceOf('r8', '?since=2')).checkpoint).size).toBe(2);
  });

  it('is served with the checkpoints', async () => {
    expect(open((await get('/api/log/checkpoint')).body.note)).toEqual({ size: 3, signedBy: [ORIGIN] });
    const { body } = await get('/api/log/checkpoint?witnessed=true');
    expect([body.size, open(body.note)]).toEqual([2, { size: 2, signedBy: both }]);
    expect((await get('/api/log/checkpoint?witnessed=yes')).status).toBe(400);
  });

  it('is not of another tenant', async () => {
    expect((await api.get('/api/log/checkpoint?witnessed=true')).status).toBe(404);
  });

  it('uses the newest checkpoint once a witness cosigned it', async () => {
    const { note } = (await get('/api/log/checkpoint')).body;
    await cosign(3, note);
    expect(open((await evidenceOf('r9')).checkpoint)).toEqual({ size: 3, signedBy: both });
    const tiles = await api.app.inject({
      url: '/log/checkpoint',
      headers: { authorization: `Bearer ${api.keys.foreign.key}` },
    });
    expect(open(tiles.body)).toEqual({ size: 3, signedBy: both });
    expect(
      open((await get('/api/log/inclusion?kind=approval&id=x2')).body.text.split('\n\n').slice(1).join('\n\n')),
    ).toEqual({
      ...{ size: 3, signedBy: both },
    });
  });
});
