import { useEffect, useMemo } from 'react';
import { type Step, storyOf } from './story.ts';
import { useTimeline } from './use-run.ts';

export type ChildSteps = (id: string, steps: readonly Step[]) => void;

/** Reads the timelines of sub-runs that are expanded in place. */
export function ChildTimelines({ ids, onSteps }: { ids: readonly string[]; onSteps: ChildSteps }) {
  return ids.map((id) => <ChildTimeline key={id} id={id} onSteps={onSteps} />);
}

function ChildTimeline({ id, onSteps }: { id: string; onSteps: ChildSteps }) {
  const { data } = useTimeline(id);
  const steps = useMemo(() => (data === undefined ? undefined : storyOf(data.entries, true)), [data]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: reported once per result
  useEffect(() => {
    if (steps !== undefined) onSteps(id, steps);
  }, [id, steps]);
  return null;
}
