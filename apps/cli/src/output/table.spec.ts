import { describe, expect, it } from '@jest/globals';
import { withoutColour } from './style.ts';
import { details, duration, instant, plainText, table, usd } from './table.ts';

const COLUMNS = [
  { title: 'name', value: ({ name }: { name: string }) => name },
  { title: 'count', value: ({ count }: { count: number }) => count, align: 'right' as const },
];

describe('table', () => {
  it('aligns columns under their titles', () => {
    const rows = [
      { name: 'a', count: 1 },
      { name: 'longer', count: 1000 },
    ];
    expect(table(rows, COLUMNS, { paint: withoutColour })).toBe('NAME    COUNT\na           1\nlonger   1000');
  });

  it('truncates the widest column to fit the terminal', () => {
    const rows = [{ name: 'x'.repeat(50), count: 7 }];
    const [, row = ''] = table(rows, COLUMNS, { paint: withoutColour, width: 20 }).split('\n');
    expect(row).toBe(`${'x'.repeat(12)}…      7`);
  });

  it('measures terminal columns, not characters or bytes', () => {
    const rows = [
      { name: '🦊🦊', count: 1 },
      { name: '東京', count: 2 },
      { name: 'abcd', count: 3 },
    ];
    const lines = table(rows, COLUMNS, { paint: withoutColour }).split('\n');
    expect(lines.slice(1)).toEqual(['🦊🦊      1', '東京      2', 'abcd      3']);
  });

  it('truncates wide characters without splitting them', () => {
    const rows = [{ name: '東'.repeat(20), count: 7 }];
    const [, row = ''] = table(rows, COLUMNS, { paint: withoutColour, width: 20 }).split('\n');
    expect(row).toBe(`${'東'.repeat(6)}…      7`);
  });
});

describe('details', () => {
  it('omits members without a value', () => {
    const members = [
      ['ID', 'r-1'],
      ['Reason', undefined],
      ['Long label', false],
    ] as const;
    expect(details(members, withoutColour)).toBe('ID          r-1\nLong label  no');
  });
});

describe('agent-controlled text', () => {
  it('cannot control the terminal', () => {
    expect(plainText('a\u001b[2Jb\r\nc\u009bd')).toBe('a\\u001b[2Jb\\r\\nc\\u009bd');
  });

  it('cannot reverse the reading direction', () => {
    expect(plainText('safe\u202etxt.exe')).toBe('safe\\u202etxt.exe');
  });

  it('is otherwise unchanged', () => {
    expect(plainText('Ünïcödé 日本語 🦊')).toBe('Ünïcödé 日本語 🦊');
  });
});

describe('figures', () => {
  it('are formatted for people', () => {
    expect([usd(0), usd(0.0042), usd(12.5)]).toEqual(['$0.00', '$0.0042', '$12.50']);
    expect([duration(320), duration(4_210), duration(185_000), duration(7_800_000)]).toEqual([
      '320 ms',
      '4.2 s',
      '3 min 5 s',
      '2 h 10 min',
    ]);
    expect(instant('2026-11-25T10:00:00.123Z')).toBe('2026-11-25T10:00:00Z');
  });
});
