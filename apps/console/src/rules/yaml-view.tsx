import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useState } from 'react';
import { parse, stringify } from 'yaml';
import { CodeEditor } from '../ui/code-editor.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { bodyOf, type Draft } from './draft.ts';

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--text-2)' },
  { tag: tags.string, color: 'var(--good-text)' },
  { tag: tags.number, color: 'var(--accent-text)' },
  { tag: tags.bool, color: 'var(--ghost-text)' },
]);

const extensions = [
  lineNumbers(),
  history(),
  keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
  yaml(),
  syntaxHighlighting(colours),
];

/** The same draft as text: what rules in files look like. */
export function YamlView({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const [text, setText] = useState(() => stringify(bodyOf(draft, draft.mode)));
  const [error, setError] = useState<string>();
  const read = (typed: string) => {
    setText(typed);
    try {
      const value: unknown = parse(typed);
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new Error('A rule is names with values.');
      setError(undefined);
      const { enabled: _enabled, dryRun: _dryRun, ...members } = value as Record<string, unknown>;
      onChange({ ...draft, ...(members as Partial<Draft>) });
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : 'This is not YAML yet.');
    }
  };
  return (
    <div className="yamlw">
      <CodeEditor label="Rule as YAML" value={text} onChange={read} extensions={extensions} />
      <FailureLine>{error}</FailureLine>
    </div>
  );
}
