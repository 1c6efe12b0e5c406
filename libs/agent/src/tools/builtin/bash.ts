import { AgentError } from '../../core/agent-error.ts';
import { ToolResult } from '../../core/message.ts';
import { type Tool, tool } from '../tool.ts';

interface BashInput {
  readonly command: string;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
const MAX_CHARS = 30_000;

/** Runs a shell command if the host has a shell. The permission rules decide which commands are allowed. */
export function bashTool(): Tool {
  return tool<BashInput>({
    name: 'bash',
    description:
      'Runs a bash command in the working folder and returns its output (stdout and stderr together). ' +
      'Background processes are ended with the command.',
    category: 'execute',
    // The command's own timeout ends it first.
    timeoutMs: MAX_TIMEOUT_MS + 10_000,
    input: {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, maxLength: 20_000 },
        timeoutMs: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS },
      },
      required: ['command'],
      additionalProperties: false,
    },
    info: ({ command }) => ({ actionDescription: `Run: ${command.split('\n')[0] ?? ''}`, details: command }),
    commandOf: ({ command }) => command,
    async execute({ command, timeoutMs = DEFAULT_TIMEOUT_MS }, context) {
      const { signal, host } = context;
      const onOutput = (text: string) => context.progress(text);
      const result = await host.shell.run({ command, timeoutMs, signal, maxChars: MAX_CHARS, onOutput });
      const output = result.truncated ? `${result.output}\n[output cut]` : result.output;
      if (result.timedOut) throw new AgentError('tool_timeout', `the command did not end in time\n${output}`);
      if (result.exitCode === 0) return output;
      return ToolResult.error('tool_failed', output, { exitCode: result.exitCode });
    },
  });
}
