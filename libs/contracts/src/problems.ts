import { z } from 'zod';

/** One thing wrong with a request: where (`events.3.timestamp`), and what to do about it. */
export const ProblemDetail = z.object({ path: z.string(), message: z.string() });
export type ProblemDetail = z.infer<typeof ProblemDetail>;

/** Body of every error answer (the shape AgentLens clients read). Never carries secrets, limits of rules or payloads. */
export const Problem = z.object({
  error: z.string(),
  /** The same in a word for programs; it does not change with the text. */
  code: z.string().optional(),
  status: z.int(),
  details: z.array(ProblemDetail).optional(),
  hint: z.string().optional(),
  /** Of a 412: the version that is current, as `If-Match` takes it. */
  currentVersion: z.int().optional(),
  /** What the log of the platform knows the request by. */
  requestId: z.string().optional(),
});
export type Problem = z.infer<typeof Problem>;

/** More details than this help nobody and make an error answer a weapon. */
const MAX_DETAILS = 20;

/** zod issues as problem details, paths in the `events.0.timestamp` form. */
export function detailsOf(error: z.core.$ZodError, prefix: readonly PropertyKey[] = []): ProblemDetail[] {
  return error.issues.slice(0, MAX_DETAILS).map((issue) => ({
    path: [...prefix, ...issue.path].map(String).join('.'),
    message: issue.message,
  }));
}

/**
 * A change that was meant for another version than the one that stands.
 * @param what a word: `rule`, `limits`
 * @param current 0 where there is none yet
 */
export function otherVersion(
  what: string,
  wanted: number | undefined,
  current: number,
): { readonly ok: false; readonly problem: Problem } {
  return {
    ok: false,
    problem: {
      error: `The ${what} changed meanwhile`,
      status: 412,
      currentVersion: current,
      details: [{ path: 'If-Match', message: `names version ${wanted}; the current one is ${current}` }],
      hint: `Read the ${what} again, and repeat the change with If-Match: "${current}" if it still makes sense`,
    },
  };
}
