import { visible } from '../../../../libs/contracts/src/visible.ts';
import { JsonView } from '../ui/json-view.tsx';
import { Facts } from '../ui/section.tsx';

type CallArguments = Readonly<Record<string, unknown>>;

/** A call of a coding agent that reads better as a command or a diff than as JSON; null for any other call. */
export function CodeChange({ args }: { args: unknown }) {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return null;
  const given = args as CallArguments;
  const { command, patch, content } = given;
  const lines = diffOf(given);
  if (lines !== undefined) return <Diff path={given.path} lines={lines} />;
  if (typeof patch === 'string') return <Diff path={given.paths} lines={patch.split('\n')} />;
  if (typeof content === 'string' && typeof given.path === 'string')
    return <Diff path={given.path} lines={content.split('\n').map((line) => `+${line}`)} />;
  return typeof command === 'string' ? <pre className="well plain">{visible(command)}</pre> : null;
}

function diffOf({ old, new: next, edits }: CallArguments): string[] | undefined {
  const all: readonly unknown[] = Array.isArray(edits) ? edits : [{ old_string: old, new_string: next }];
  const found = all.flatMap((edit) => {
    const { old_string: before, new_string: after } = (edit ?? {}) as CallArguments;
    if (typeof before !== 'string' || typeof after !== 'string') return [];
    return [...marked('-', before), ...marked('+', after)];
  });
  return found.length === 0 ? undefined : found;
}

const marked = (mark: string, text: string) => (text === '' ? [] : text.split('\n').map((line) => mark + line));

function Diff({ path, lines }: { path: unknown; lines: readonly string[] }) {
  const name = Array.isArray(path) ? path.join(', ') : typeof path === 'string' ? path : 'a file';
  return (
    <>
      <p className="lab">{visible(name)}</p>
      <pre className="well plain">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one call never change
          <span key={index} className={line.startsWith('+') ? 'good' : line.startsWith('-') ? 'bad' : undefined}>
            {visible(line)}
            {'\n'}
          </span>
        ))}
      </pre>
    </>
  );
}

/** A finished call whose client reports the outcome and keeps the result, as coding agents do. */
export function CodeOutcome({ payload }: { payload: Readonly<Record<string, unknown>> }) {
  const { exitCode, bytes, outcome, error } = payload;
  const message = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : undefined;
  return (
    <>
      <Facts
        facts={[
          ['Outcome', String(outcome)],
          ['Exit code', typeof exitCode === 'number' ? String(exitCode) : 'not reported'],
          ['Size of the result', typeof bytes === 'number' ? `${bytes.toLocaleString('en')} bytes` : 'not reported'],
        ]}
      />
      {message !== undefined && <pre className="well plain">{visible(message)}</pre>}
      <JsonView label="Event" value={payload} />
    </>
  );
}
