import { describe, expect, it } from '@jest/globals';
import { compared } from './invoice.queries.ts';
import { readInvoice } from './invoice.ts';

const OPENAI = `start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,0.75,usd,"gpt-4o-2024-08-06, input",p
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,0.25,usd,"gpt-4o-2024-08-06, output",p
1759708800,1759795200,2025-10-06T00:00:00+00:00,2025-10-07T00:00:00+00:00,,,,
`;
const ANTHROPIC = `usage_date_utc,model,workspace,token_type,cost_usd
2025-10-05,claude-sonnet-4-5-20250929,Default,input_no_cache,2.5
`;

describe('an invoice', () => {
  it.each([
    ['openai', OPENAI, [{ day: '2025-10-05', model: 'gpt-4o-2024-08-06', usd: 0.75 }], 1],
    ['anthropic', ANTHROPIC, [{ day: '2025-10-05', model: 'claude-sonnet-4-5-20250929', usd: 2.5 }], 0],
    ['generic', '\uFEFFDay;Model;Cost\n2025-10-05;m;$1.5\n', [{ day: '2025-10-05', model: 'm', usd: 1.5 }], 0],
  ])('of format %s is read', (format, csv, [line], skipped) => {
    const invoice = readInvoice(csv);
    expect(invoice).toMatchObject({ format, skipped });
    expect(invoice.lines[0]).toEqual(line);
  });

  it.each(['day,model\n2025-10-05,m\n', 'day,model,cost\n', 'just text', '"unclosed\n'])(
    'that cannot be read is an error: %j',
    (csv) => {
      expect(() => readInvoice(csv)).toThrow();
    },
  );

  it('is explained by calls of the same day and model, however both write its name', () => {
    const { explainedPercent, total, byModel, unseen } = compared(readInvoice(OPENAI).lines, [
      { day: '2025-10-05', model: 'openai/gpt-4o', usd: 0.8 },
      { day: '2025-10-06', model: 'gpt-4o', usd: 5 },
    ]);
    expect(explainedPercent).toBe(80);
    expect(total).toMatchObject({ invoicedUsd: 1, recordedUsd: 5.8 });
    expect(byModel).toMatchObject([{ model: 'gpt-4o', invoicedUsd: 1, recordedUsd: 5.8 }]);
    expect(unseen).toEqual([]);
  });

  it.each([
    ['Claude Haiku 4.5', 'claude-haiku-4-5-20251001'],
    ['Claude Opus 4', 'claude-opus-4-20250514'],
    ['Claude Sonnet 4.5 (1M context)', 'anthropic/claude-sonnet-4.5'],
    ['Claude 3.5 Haiku', 'claude-3-5-haiku-20241022'],
  ])('names the model as people do: %s', (model, recorded) => {
    const day = '2025-10-05';
    expect(compared([{ day, model, usd: 1 }], [{ day, model: recorded, usd: 1 }])).toMatchObject({
      ...{ explainedPercent: 100, unseen: [] },
    });
  });

  it('lists spend that was never recorded', () => {
    const { unseen, explainedPercent } = compared(readInvoice(ANTHROPIC).lines, []);
    expect(unseen).toEqual([{ day: '2025-10-05', model: 'claude-sonnet-4-5', invoicedUsd: 2.5 }]);
    expect(explainedPercent).toBe(0);
  });
});
