import type { Run } from '../api/model.ts';

/** The user that a run acts for, if reported. */
export function actorOf({ actor }: Pick<Run, 'actor'>): string | undefined {
  const name = actor?.name ?? actor?.externalId;
  return typeof name === 'string' ? name : undefined;
}

/** What a run does, if its tags say so. */
export function taskOf({ runTags, tags }: Pick<Run, 'runTags' | 'tags'>): string | undefined {
  return runTags.task ?? runTags.name ?? tags[0];
}

/** Short description of a run: its task, else its user or its session. */
export function aboutRun(run: Pick<Run, 'runTags' | 'tags' | 'actor' | 'sessionId'>): string {
  const actor = actorOf(run);
  return taskOf(run) ?? (actor === undefined ? (run.sessionId ?? '') : `for ${actor}`);
}
