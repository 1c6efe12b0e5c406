import type { Extension } from '@codemirror/state';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';

/** Nonce for styles under the page's Content-Security-Policy. */
function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.content ?? '';
}

const look = EditorView.theme({
  '&': {
    fontSize: '12.5px',
    color: 'var(--text)',
    backgroundColor: 'var(--raised)',
    borderRadius: 'var(--r-2)',
    boxShadow: 'inset 0 0 0 1px var(--line-control)',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', padding: '6px 0' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--text-3)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line)', borderRadius: 'var(--r-2)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-tint)', color: 'var(--text)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--select)' },
});

interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Configuration at creation. */
  readonly extensions: readonly Extension[];
}

/** CodeMirror as a controlled component. */
export function CodeEditor({ label, value, onChange, extensions }: CodeEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const changed = useRef(onChange);
  changed.current = onChange;
  // biome-ignore lint/correctness/useExhaustiveDependencies: created once; later changes are dispatched below
  useEffect(() => {
    if (box.current === null) return;
    const state = EditorState.create({
      doc: value,
      extensions: [
        EditorView.cspNonce.of(nonce()),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => update.docChanged && changed.current(update.state.doc.toString())),
        ...extensions,
      ],
    });
    view.current = new EditorView({ state, parent: box.current });
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (editor === undefined || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={box} className="code-editor" />;
}
