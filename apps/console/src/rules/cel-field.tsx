import { autocompletion, type CompletionContext, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { CodeEditor } from '../ui/code-editor.tsx';
import type { Problem } from './draft.ts';
import { sentence } from './schema-form.tsx';

/** What an expression can look at. */
const VARIABLES: readonly (readonly [string, string])[] = [
  ['tool.name', 'the tool that is called'],
  ['tool.tags', 'list of its tags'],
  ['args', 'the arguments, by name'],
  ['result', 'what the call gave, after it'],
  ['actor', 'on whose behalf it runs'],
  ['tags', 'tags of the run, by name'],
  ['subjects', 'whom the call is about'],
  ['metrics', 'numbers the agent reports'],
  ['phase', 'tool.before, tool.after, llm.before or llm.after'],
  ['agentId', 'which agent'],
  ['runId', 'which run'],
  ['in', 'is one of: x in ["a", "b"]'],
  ['size', 'length: size(args.query)'],
  ['has', 'is it there: has(args.amount)'],
  ['startsWith', 'args.path.startsWith("/etc")'],
  ['matches', 'args.url.matches("^https://")'],
];

const language = StreamLanguage.define({
  token(stream) {
    if (stream.match(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/)) return 'string';
    if (stream.match(/\d+(\.\d+)?/)) return 'number';
    if (stream.match(/\b(in|true|false|null|has|size|startsWith|endsWith|contains|matches)\b/)) return 'keyword';
    if (stream.match(/\b(tool|args|result|actor|tags|subjects|metrics|phase|agentId|runId)\b/)) return 'variableName';
    stream.next();
    return null;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.string, color: 'var(--good-text)' },
  { tag: tags.number, color: 'var(--accent-text)' },
  { tag: tags.keyword, color: 'var(--ghost-text)' },
  { tag: tags.variableName, color: 'var(--text-2)' },
]);

function complete(context: CompletionContext) {
  const word = context.matchBefore(/[\w.]+/);
  if (word === null && !context.explicit) return null;
  return { from: word?.from ?? context.pos, options: VARIABLES.map(([label, detail]) => ({ label, detail })) };
}

const extensions = [
  history(),
  keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
  language,
  syntaxHighlighting(colours),
  autocompletion({ override: [complete] }),
];

/** A CEL expression; the server's own compiler says what is wrong with it. */
export function CelField({
  value,
  onChange,
  problems,
}: {
  value: string;
  onChange: (value: string) => void;
  problems: readonly Problem[];
}) {
  return (
    <div className="celw">
      <CodeEditor label="Expression" value={value} onChange={onChange} extensions={extensions} />
      {problems.map((problem) => (
        <span key={problem.message} className="hint bad">
          {sentence(problem.message)}
        </span>
      ))}
    </div>
  );
}
