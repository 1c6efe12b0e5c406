export { catalogRules } from './catalog-rules.ts';
