import type { Run } from '../api/model.ts';

/** On whose behalf a run acts, as far as anybody said. */
export function actorOf({ actor }: Pick<Run, 'actor'>): string | undefined {
  const name = actor?.name ?? actor?.externalId;
  return typeof name === 'string' ? name : undefined;
}

/** What a run is about: its tags, else whom it is for, else what it belongs to. */
export function taskOf(run: Pick<Run, 'runTags' | 'tags' | 'actor' | 'sessionId'>): string {
  const actor = actorOf(run);
  const said = run.runTags.task ?? run.runTags.name ?? run.tags[0];
  return said ?? (actor === undefined ? (run.sessionId ?? '') : `for ${actor}`);
}
