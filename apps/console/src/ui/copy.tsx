import { Icon } from './icon.tsx';
import { useFlash } from './moment.tsx';

export function Copy({ text, label = 'Copy', quiet = true }: { text: string; label?: string; quiet?: boolean }) {
  const [done, flash] = useFlash();
  return (
    <button
      type="button"
      className={`b sm ${quiet ? 'quiet' : ''}`}
      onClick={() => void navigator.clipboard.writeText(text).then(flash)}
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
