import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { appendTables, removeTables } from '../src/install/toml-text.ts';

const OURS = [
  { event: 'PreToolUse', command: "'/home/dev/x y/hook' kimi-code PreToolUse 5 || true", timeout: 15 },
  { event: 'Stop', command: '/home/dev/hook "a\\b"', timeout: 15 },
];
const isOurs = (table: string) => table.includes('/hook');

void describe('tables at the end of a TOML file', () => {
  for (const text of [
    '',
    '\n',
    'a = 1',
    'a = 1\n',
    'a = 1\n\n',
    '# c\r\n[b]\r\nc = 2\r\n',
    '[[hooks]]\ncommand = "own"\n',
  ])
    void it(`are added to ${JSON.stringify(text)} and removed without a trace`, () => {
      const added = appendTables(text, 'hooks', OURS);
      assert.ok(added.startsWith(text));
      assert.equal(added.match(/^\[\[hooks\]\]$/gm)?.length, OURS.length + (text.startsWith('[[hooks]]') ? 1 : 0));
      assert.equal(removeTables(added, 'hooks', isOurs), text);
    });

  void it('leave what the user added after them', () => {
    const changed = `${appendTables('a = 1\n', 'hooks', OURS)}\n[mine]\nb = 2\n\n[[hooks]]\ncommand = "own"\n`;
    assert.equal(removeTables(changed, 'hooks', isOurs), 'a = 1\n[mine]\nb = 2\n\n[[hooks]]\ncommand = "own"\n');
  });

  void it('are refused if the file says the array as a value, with its line', () => {
    assert.throws(
      () => appendTables('a = 1\nhooks = []\n', 'hooks', OURS),
      /line 2: write hooks as \[\[hooks\]\] tables/,
    );
    assert.doesNotThrow(() => appendTables('[other]\nhooks = []\n', 'hooks', OURS));
  });
});
