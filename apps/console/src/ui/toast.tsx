import { useSyncExternalStore } from 'react';
import { problemText } from '../api/problem.ts';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'good' | 'bad';
}

let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();
const LIFE_MS = 6_000;

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Reports the result of the user's action. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = nextId++;
  // A success replaces the errors of earlier attempts.
  const kept = tone === 'good' ? toasts.filter((one) => one.tone === 'good') : toasts;
  set([...kept.slice(-3), { id, text, tone }]);
  setTimeout(() => set(toasts.filter((one) => one.id !== id)), tone === 'bad' ? LIFE_MS * 2 : LIFE_MS);
}

export function toastError(what: string, error: unknown): void {
  toast(`${what}: ${problemText(error)}`, 'bad');
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => (
        <div key={id} className="toast">
          <span className={tone === 'good' ? 'good' : 'bad'}>
            <Icon name={tone === 'good' ? 'check' : 'warnt'} size={16} />
          </span>
          <span>{text}</span>
          <button
            type="button"
            className="b quiet ico sm"
            aria-label="Close"
            onClick={() => set(toasts.filter((one) => one.id !== id))}
          >
            <Icon name="x" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
