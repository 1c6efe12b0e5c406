import { useEffect, useState, useSyncExternalStore } from 'react';
import { EventContents } from './event-contents.ts';
import { readEvents } from './read-entries.ts';
import type { RunEntry } from './use-run.ts';

/** Contents of events, loaded as `useVisibleEntries` requests them. */
export function useEventContents(): EventContents {
  const [contents] = useState(() => new EventContents(readEvents));
  useSyncExternalStore(contents.subscribe, contents.state);
  useEffect(() => () => contents.close(), [contents]);
  return contents;
}

/** Loads the contents of these entries. */
export function useVisibleEntries(contents: EventContents, entries: readonly RunEntry[]): void {
  // After each render, because scrolling changes the visible entries.
  useEffect(() => contents.want(entries));
}
