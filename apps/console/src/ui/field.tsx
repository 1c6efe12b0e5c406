import { type ReactNode, useId, useState } from 'react';
import { type Problem, problemOf } from '../api/problem.ts';

/** Props of the input of a field. */
interface FieldInput {
  readonly id: string;
  readonly className: string;
  readonly 'aria-invalid': true | undefined;
  readonly 'aria-describedby': string | undefined;
}

/** A labeled input with the server's explanation below it if its value was rejected. */
export function Field({
  label,
  wrong,
  hint,
  children,
}: {
  label: ReactNode;
  wrong: string | undefined;
  hint?: ReactNode;
  children: (input: FieldInput) => ReactNode;
}) {
  const id = useId();
  const isWrong = wrong !== undefined;
  return (
    <div className="field">
      <label className="lab" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: isWrong ? 'in err' : 'in',
        'aria-invalid': isWrong || undefined,
        'aria-describedby': isWrong ? `${id}-wrong` : undefined,
      })}
      {hint !== undefined && <span className="hint">{hint}</span>}
      {isWrong && (
        <span className="hint bad" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}

/** Why something is done, which the audit keeps. */
export function ReasonField({
  label = 'Reason',
  value,
  wrong,
  hint,
  focused = false,
  onChange,
}: {
  label?: string;
  value: string;
  wrong: string | undefined;
  hint?: ReactNode;
  /** Whether the field has the focus when it appears, because nothing else can be done first. */
  focused?: boolean;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} wrong={wrong} hint={hint}>
      {(input) => (
        <input
          {...input}
          // biome-ignore lint/a11y/noAutofocus: a dialog that opened for this field moves the focus into itself anyway
          autoFocus={focused}
          value={value}
          maxLength={1000}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** Why the server rejected a form: by field, and as a line for what no field shows. */
export interface Rejection {
  /** Explanation for the field at this path, or for any part of it. */
  at(path: string): string | undefined;
  /** Everything that belongs to none of the fields at these paths. */
  besides(...paths: readonly string[]): string | undefined;
}

/** The last rejection of a form. Set it from a caught error, and clear it before the next attempt. */
export function useRejection(): Rejection & { set(error: unknown): void; clear(): void } {
  const [problem, setProblem] = useState<Problem>();
  return {
    ...rejectionOf(problem),
    set: (error) => setProblem(problemOf(error)),
    clear: () => setProblem(undefined),
  };
}

export function rejectionOf(problem: Problem | undefined): Rejection {
  const isAt = (path: string, field: string) => path === field || path.startsWith(`${field}.`);
  const details = problem?.details ?? [];
  return {
    at: (field) => sentences(details.filter(({ path }) => isAt(path, field)).map(({ message }) => message)),
    besides: (...fields) => {
      if (problem === undefined) return undefined;
      const rest = details.filter(({ path }) => !fields.some((field) => isAt(path, field)));
      if (details.length > 0 && rest.length === 0) return undefined;
      if (rest.length > 0) return sentences(rest.map(({ path, message }) => `${path} ${message}`.trim()));
      return sentences([problem.message, problem.hint ?? '']);
    },
  };
}

/** Each message as a sentence; undefined if there is none. */
function sentences(messages: readonly string[]): string | undefined {
  const full = messages
    .filter((message) => message !== '')
    .map((message) => `${message[0]?.toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`);
  return full.length === 0 ? undefined : full.join(' ');
}
