import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { FaultFinding } from './fault.ts';
import { type FaultReport, markdown, writeOutput } from './report.ts';

const finding: FaultFinding = {
  ...{ id: 'F-01', title: 'the gateway is killed', seed: 4711, outcome: 'passed', startedAt: '2026-11-22T10:00:00Z' },
  ...{ seconds: 12, timeline: [{ at: 1, text: 'SIGKILL ingest' }], measures: { accepted: '10 events' } },
  checks: [{ name: 'lost', ok: true, wanted: '= 0', found: '0' }],
};
const machine = {
  ...{ cpu: 'a CPU', cores: 2, memoryGb: 4, kernel: 'x', node: 'v24', parseMicros: 1, loadBefore: 0, commit: 'abc' },
};
const report: FaultReport = { machine, smoke: false, minutes: 3, findings: [finding] };

describe('the report of the fault suite', () => {
  it('contains the command to repeat a fault', () => {
    expect(markdown({ ...report, minutes: 30 })).toContain('npm run faults -- --only F-01 --seed 4711 --minutes 30`');
    expect(markdown({ ...report, smoke: true })).toContain('npm run faults -- --only F-01 --seed 4711 --smoke');
  });

  it('contains the previous try of a fault that was repeated', () => {
    const earlier: FaultFinding = { ...finding, outcome: 'failed', timeline: [{ at: 2, text: 'the first try' }] };
    const text = markdown({ ...report, findings: [{ ...finding, earlier }] });
    expect(text).toContain('## F-01 the gateway is killed: passed on retry');
    expect(text).toContain('## F-01 the gateway is killed: failed');
    expect(text).toContain('- 2.0 s the first try');
  });

  it('contains checks, figures and timeline', () => {
    const text = markdown(report);
    for (const part of ['| lost | = 0 | 0 | ok |', '- accepted: 10 events', '- 1.0 s SIGKILL ingest']) {
      expect(text).toContain(part);
    }
  });

  it('writes the output of services, separately for each fault', async () => {
    const reports = await mkdtemp(join(tmpdir(), 'agentlens-report-'));
    try {
      const folder = await writeOutput(reports, 'F-01', [
        { name: 'ingest', output: ['{"msg":"one"}', '{"msg":"two"}'] },
      ]);
      expect(folder).toBe(join(reports, 'output', 'F-01'));
      expect(await readFile(join(folder, 'ingest.log'), 'utf8')).toBe('{"msg":"one"}\n{"msg":"two"}\n');
    } finally {
      await rm(reports, { recursive: true });
    }
  });
});
