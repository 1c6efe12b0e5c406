import { isRecord } from './json-rpc.ts';

/** What either side says of a task. */
export interface TaskStatus {
  readonly taskId: string;
  readonly status: string;
  readonly message: string | undefined;
}

/** A call whose answer was the handle of a task. */
interface OpenTask {
  readonly callId: string;
  /** Its result can be collected; the call ends with it. */
  completed: boolean;
  ended: boolean;
}

/** Bounds the memory that a server can take by starting tasks. */
const MAX_TASKS = 10_000;
const FAILED: ReadonlySet<string> = new Set(['failed', 'cancelled']);

/**
 * The tasks that one side started. A server that answers a call with a task only confirms that it begins: the call ends
 * when its task does, by a status or by the result that the client collects.
 */
export class Tasks {
  readonly #tasks = new Map<string, OpenTask>();

  /** @returns whether the result is the handle of a task, which is then followed */
  begin(result: unknown, callId: string): boolean {
    const taskId = handleIn(result);
    if (taskId === undefined) return false;
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size >= MAX_TASKS && oldest !== undefined) this.#tasks.delete(oldest);
    this.#tasks.set(taskId, { callId, completed: false, ended: false });
    return true;
  }

  has(taskId: string | undefined): boolean {
    return taskId !== undefined && this.#tasks.has(taskId);
  }

  /** @returns the call that ended without a result, and why */
  hear({
    taskId,
    status,
    message = status,
  }: TaskStatus): { readonly callId: string; readonly error: Error } | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined || task.ended) return undefined;
    if (status === 'completed') task.completed = true;
    if (!FAILED.has(status)) return undefined;
    task.ended = true;
    return { callId: task.callId, error: new Error(message) };
  }

  /** @returns the call that ends with the collected result; undefined if it has ended */
  collect(taskId: string): string | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined || task.ended) return undefined;
    task.ended = true;
    return task.callId;
  }

  /** Calls whose task has not ended, with their ids, and whether the task said that it completed. They end here. */
  *close(): Generator<{ readonly taskId: string; readonly callId: string; readonly completed: boolean }> {
    for (const [taskId, task] of this.#tasks) {
      if (task.ended) continue;
      task.ended = true;
      yield { taskId, callId: task.callId, completed: task.completed };
    }
  }
}

/** Protocol 2025-11-25 has the task in a member, later ones have its fields in the result. */
function handleIn(result: unknown): string | undefined {
  if (!isRecord(result)) return undefined;
  const task = isRecord(result.task) ? result.task : result.resultType === 'task' ? result : undefined;
  return typeof task?.taskId === 'string' ? task.taskId : undefined;
}

export function taskIdIn(params: unknown): string | undefined {
  return isRecord(params) && typeof params.taskId === 'string' ? params.taskId : undefined;
}

export function readTaskStatus(value: unknown): TaskStatus | undefined {
  const taskId = taskIdIn(value);
  if (taskId === undefined || !isRecord(value) || typeof value.status !== 'string') return undefined;
  const { status, statusMessage } = value;
  return { taskId, status, message: typeof statusMessage === 'string' ? statusMessage : undefined };
}
