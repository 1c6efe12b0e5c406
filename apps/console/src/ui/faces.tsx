import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { problemOf } from '../api/problem.ts';
import { Icon } from './icon.tsx';

/** Empty state with the next step. */
export function Empty({ title, children, act }: { title: string; children?: ReactNode; act?: ReactNode }) {
  return (
    <div className="empty">
      <h3>{title}</h3>
      {children !== undefined && <p>{children}</p>}
      {act !== undefined && <div className="btns">{act}</div>}
    </div>
  );
}

interface MissingProps {
  readonly title: string;
  readonly list: { readonly name: string; readonly to: string };
  readonly children: ReactNode;
}

/** In place of something that does not exist or was not chosen: the way to the list. */
export function Missing({ title, list, children }: MissingProps) {
  return (
    <div className="pad">
      <Empty
        title={title}
        act={
          <Link className="b" to={list.to}>
            {list.name}
          </Link>
        }
      >
        {children}
      </Empty>
    </div>
  );
}

/** Empty state of a filtered list. */
export function FilteredEmpty({
  what,
  filter,
  onClear,
  widen,
}: {
  what: string;
  filter: string;
  onClear: () => void;
  widen?: { readonly name: string; readonly go: () => void } | undefined;
}) {
  return (
    <div className="empty">
      <h3>No {what} for this filter.</h3>
      <p>Your filter: {filter}.</p>
      <div className="btns">
        {widen !== undefined && (
          <button type="button" className="b" onClick={widen.go}>
            Widen to {widen.name}
          </button>
        )}
        <button type="button" className="b quiet" onClick={onClear}>
          Clear filter
        </button>
      </div>
    </div>
  );
}

/** Error state with a retry. */
export function Failed({ what, error, onRetry }: { what: string; error: unknown; onRetry: () => void }) {
  const problem = problemOf(error);
  const details = JSON.stringify({
    error: problem.message,
    status: problem.status,
    hint: problem.hint,
    requestId: problem.requestId,
  });
  return (
    <div className="empty failed-face" role="alert">
      <h3>
        <Icon name="warnt" size={16} /> {what} could not be loaded.
      </h3>
      <p>
        {problem.message}. {problem.hint}
      </p>
      <div className="btns">
        <button type="button" className="b" onClick={onRetry}>
          Try again
        </button>
        <button type="button" className="b quiet" onClick={() => void navigator.clipboard.writeText(details)}>
          Copy details
        </button>
      </div>
    </div>
  );
}

/** Placeholder while loading. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div className="sks" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all equal
        <span key={row} className="sk" style={{ width: `${60 - ((row * 17) % 35)}%` }} />
      ))}
    </div>
  );
}

/** Loading, error or loaded state of a query. */
export function Read<T>({
  read,
  what,
  rows,
  children,
}: {
  read: { readonly data: T | undefined; readonly error: unknown; readonly refetch: () => unknown };
  what: string;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  if (read.data !== undefined) return <>{children(read.data)}</>;
  if (read.error !== null) return <Failed what={what} error={read.error} onRetry={() => void read.refetch()} />;
  return <Loading {...(rows === undefined ? {} : { rows })} />;
}
