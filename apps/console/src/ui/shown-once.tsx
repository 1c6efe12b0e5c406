import type { ReactNode } from 'react';
import { Copy } from './copy.tsx';

interface ShownOnceProps {
  readonly children: ReactNode;
  readonly secret: string;
  readonly onTaken: () => void;
}

/** A secret that the platform shows this one time, until somebody says that they have it. */
export function ShownOnce({ children, secret, onTaken }: ShownOnceProps) {
  return (
    <div className="well key-once topped">
      <span className="grow">
        {children}, shown this once: <code className="mono">{secret}</code>
      </span>
      <Copy text={secret} quiet={false} />
      <button type="button" className="b quiet sm" onClick={onTaken}>
        I have it
      </button>
    </div>
  );
}
