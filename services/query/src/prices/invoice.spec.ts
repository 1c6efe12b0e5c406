import { describe, expect, it } from '@jest/globals';
import { compare } from './invoice.queries.ts';
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
  ])('of format %s is read', async (format, csv, [line], skipped) => {
    const invoice = await readInvoice(csv);
    expect(invoice).toMatchObject({ format, skipped });
    expect(invoice.lines[0]).toEqual(line);
  });

  it.each(['day,model\n2025-10-05,m\n', 'day,model,cost\n', 'just text', '"unclosed\n'])(
    'that cannot be read is an error: %j',
    async (csv) => {
      await expect(readInvoice(csv)).rejects.toThrow();
    },
  );

  it('is explained by calls of the same day and model, however both write its name', async () => {
    const { explainedPercent, total, byModel, unseen } = await compare((await readInvoice(OPENAI)).lines, [
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
  ])('names the model as people do: %s', async (model, recorded) => {
    const day = '2025-10-05';
    expect(await compare([{ day, model, usd: 1 }], [{ day, model: recorded, usd: 1 }])).toMatchObject({
      ...{ explainedPercent: 100, unseen: [] },
    });
  });

  it('lists spend that was never recorded', async () => {
    const { unseen, explainedPercent } = await compare((await readInvoice(ANTHROPIC)).lines, []);
    expect(unseen).toEqual([{ day: '2025-10-05', model: 'claude-sonnet-4-5', invoicedUsd: 2.5 }]);
    expect(explainedPercent).toBe(0);
  });

  const usdOf = async (csv: string) => (await readInvoice(csv)).lines.map(({ usd }) => usd);
  const generic = (delimiter: string, ...amounts: readonly string[]) =>
    [['day', 'model', 'cost'], ...amounts.map((amount) => ['2025-10-05', 'm', amount])]
      .map((row) => row.join(delimiter))
      .join('\n');

  it.each([
    [';', ['1,234.56', '12.5'], [1234.56, 12.5]],
    [';', ['12,34', '1.234,56', '1,234'], [12.34, 1234.56, 1.234]],
    [';', ['1,234', '1,234.5'], [1234, 1234.5]],
    [';', ['1,234,567', '0.5'], [1_234_567, 0.5]],
    [';', ['1.234', '0,5'], [1234, 0.5]],
    ['\t', ['0,125'], [0.125]],
    [',', ['"1,234.56"', '.5'], [1234.56, 0.5]],
    [',', ['$1.234', 'USD 2', '-0.5', '(0.25)', '1e-3'], [1.234, 2, -0.5, -0.25, 0.001]],
    [';', ['1 234,5', '1\u202f234,5'], [1234.5, 1234.5]],
  ] as const)('reads amounts of a file with %j: %j', async (delimiter, amounts, usd) => {
    expect(await usdOf(generic(delimiter, ...amounts))).toEqual(usd);
  });

  it.each([
    [generic(';', '1,234'), /amount 1,234 in line 2, which can be read in two ways/],
    [generic(';', '1.234'), /amount 1.234 in line 2, which can be read in two ways/],
    [generic(';', '12,34', '12.34'), /decimal comma in line 2 and a decimal point in line 3/],
    [generic(',', '1', 'free'), /amount free in line 3/],
    [generic(';', '1,23,4.5'), /amount 1,23,4.5 in line 2/],
    ['day,model,cost\n2025-02-30,m,1', /day 2025-02-30 in line 2/],
    ['day,model,cost\n0000-01-01,m,1', /day 0000-01-01 in line 2/],
    ['day,model,cost\n2025-99-99T00:00:00,m,1', /day 2025-99-99 in line 2/],
    [`day,model,cost${',x'.repeat(300)}\n2025-10-05,m,1`, /more than 200 columns/],
    [`day,model,cost\n2025-10-05,${'m'.repeat(301)},1`, /more than 300 characters in line 2/],
  ])('says what it cannot read, and where: %j', async (csv, problem) => {
    await expect(readInvoice(csv)).rejects.toThrow(problem);
  });

  it('lets other work pass while it reads any file of 1 MB', async () => {
    const rows = (row: string) => row.repeat(Math.floor(1_000_000 / row.length));
    const files = [
      `day,model,cost\n${rows('2025-10-05,a/b/c/d,1\n')}`,
      `day,model,cost${','.repeat(5_000)}\n${rows('2025-10-05,m,1\n')}`,
      `day,model,cost\n2025-10-05,m,1${rows(',')}`,
      `day,model,cost\n2025-10-05,"${rows('""')}",1`,
      `day,model,cost\n${rows('\n')}`,
    ];
    for (const csv of files) {
      let turns = 0;
      let isDone = false;
      const count = () => {
        turns++;
        if (!isDone) setImmediate(count);
      };
      count();
      await readInvoice(csv).catch(() => undefined);
      isDone = true;
      // A turn for each 16 kB, or an error before the rest is read.
      expect(turns).toBeGreaterThan(1);
    }
  });
});
