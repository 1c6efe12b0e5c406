import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { ConsoleRenderer, colorScheme, safeText } from './console-renderer.ts';

async function terminal(lines: string, colors = colorScheme(false)): Promise<string> {
  const rm = tool<{ path: string }>({
    name: 'rm',
    description: '',
    input: { type: 'object' },
    execute: ({ path }) => `removed ${path}`,
    info: ({ path }) => ({ actionDescription: `Remove ${path}`, details: 'for good' }),
  });
  const model = new ScriptedModel([
    { text: 'On it.', toolCalls: [{ name: 'rm', input: { path: 'a\u001b[2J' } }] },
    { text: 'Gone\u001b]0;evil\u0007.' },
  ]);
  const agent = new Agent({
    id: 'a',
    taskPrompt: 'x',
    tools: [rm],
    modelProviders: [model],
    onPermissionRequest: 'handle',
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (bytes: Buffer) => {
    shown += bytes.toString();
  });
  const active = agent.createSession();
  const renderer = new ConsoleRenderer(await active.start(), { input, output, colors });
  input.end(lines);
  await renderer.run();
  await agent.stop();
  return shown;
}

describe('the console', () => {
  it('shows what an agent does and asks its permission requests', async () => {
    expect((await terminal('tidy up\ny\n')).replaceAll('> ', '')).toBe(
      [
        ...[
          'On it.',
          '? rm: Remove a[2J',
          'for good',
          '● rm {"path":"a\\u001b[2J"}',
          '  removed a[2J',
          'Gone]0;evil.',
          '',
        ],
      ].join('\n'),
    );
  });

  it('treats the end of the input as no, and repeats a question after an unclear answer', async () => {
    expect(await terminal('tidy up\n')).toContain('A human said no');
    expect(await terminal('tidy up\nperhaps\ne\n{"path":"b"}\n')).toContain('removed b');
  });

  it('colours tools, errors and questions', async () => {
    const { question, error } = colorScheme(true);
    const shown = await terminal('tidy up\nn\n', colorScheme(true));
    expect(question('x')).not.toBe('x');
    expect(shown).toContain(question('? rm: Remove a[2J'));
    expect(shown).toContain(error('  A human said no.'));
  });

  it('removes characters that move the cursor or reverse text', () => {
    expect(safeText('a\u001b[31mb\u202ec\rd\ne\tf\u009bg')).toBe('a[31mbcd\ne\tfg');
  });
});
