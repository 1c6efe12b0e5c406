import { useSyncExternalStore } from 'react';

/** State of something that any part of the page can open, such as a dialog. */
export function openable<T>() {
  let current: T | undefined;
  const listeners = new Set<() => void>();
  const set = (next: T | undefined) => {
    current = next;
    for (const listener of listeners) listener();
  };
  return {
    open: (value: T) => set(value),
    close: () => set(undefined),
    use: () =>
      useSyncExternalStore(
        (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        () => current,
      ),
  };
}
