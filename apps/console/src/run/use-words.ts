import { useEffect, useState, useSyncExternalStore } from 'react';
import { readEvents } from './read-entries.ts';
import type { Told } from './use-run.ts';
import { Words } from './words.ts';

/** What the events of a page's runs say; it is read as `useWanted` asks for it. */
export function useWords(): Words {
  const [words] = useState(() => new Words(readEvents));
  useSyncExternalStore(words.subscribe, words.state);
  useEffect(() => () => words.close(), [words]);
  return words;
}

/** Reads what these entries say. */
export function useWanted(words: Words, entries: readonly Told[]): void {
  // After each drawing: what is in view changes with scrolling.
  useEffect(() => words.want(entries));
}
