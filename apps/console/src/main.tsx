import { createRoot } from 'react-dom/client';
import './styles/tokens.css';
import './styles/console.css';
import './styles/product.css';
import './styles/pages.css';
import { App } from './app.tsx';
import { applyLook } from './ui/stored.ts';

applyLook();
const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root');
createRoot(root).render(<App />);
