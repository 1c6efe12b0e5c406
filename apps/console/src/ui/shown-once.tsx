import type { ReactNode } from 'react';
import { Copy } from './copy.tsx';

interface ShownOnceProps {
  readonly children: ReactNode;
  readonly secret: string;
  readonly onTaken: () => void;
}

/** A secret that is shown once, until the user confirms that it is saved. */
export function ShownOnce({ children, secret, onTaken }: ShownOnceProps) {
  return (
    <div className="well key-once topped">
      <span className="grow">
        {children}, shown this once: <code className="mono">{secret}</code>
      </span>
      <Copy text={secret} quiet={false} />
      <button type="button" className="b quiet sm" onClick={onTaken}>
        Done
      </button>
    </div>
  );
}
