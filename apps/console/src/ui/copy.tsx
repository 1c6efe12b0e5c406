import { Icon } from './icon.tsx';
import { useFlash } from './moment.tsx';

interface CopyProps {
  /** A function where the text is long: it is made when it is wanted. */
  readonly text: string | (() => string);
  readonly label?: string;
  readonly quiet?: boolean;
}

export function Copy({ text, label = 'Copy', quiet = true }: CopyProps) {
  const [done, flash] = useFlash();
  return (
    <button
      type="button"
      className={`b sm ${quiet ? 'quiet' : ''}`}
      onClick={() => void navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(flash)}
    >
      <Icon name={done ? 'check' : 'copy'} size={14} />
      {done ? 'Copied' : label}
    </button>
  );
}

/** The end of an id; the whole on hover. */
export function Id({ id }: { id: string }) {
  return (
    <span className="mono" title={id}>
      {id.length <= 10 ? id : id.slice(-6)}
    </span>
  );
}
