import type { Run } from '../api/model.ts';

/** The user that a run acts for, if reported. */
export function actorOf({ actor }: Pick<Run, 'actor'>): string | undefined {
  const name = actor?.name ?? actor?.externalId;
  return typeof name === 'string' ? name : undefined;
}

/** Short description of a run: its tags, its user or its session. */
export function taskOf(run: Pick<Run, 'runTags' | 'tags' | 'actor' | 'sessionId'>): string {
  const actor = actorOf(run);
  const said = run.runTags.task ?? run.runTags.name ?? run.tags[0];
  return said ?? (actor === undefined ? (run.sessionId ?? '') : actor);
}
