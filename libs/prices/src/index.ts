export { type ModelName, modelNames, readModelName } from './model-names.ts';
export { nearestListed } from './nearest-listed.ts';
export { OwnPrices } from './own-prices.ts';
export { SHIPPED_TABLE } from './generated/shipped-table.ts';
export { type ListedPrice, PriceTable } from './price-table.ts';
export { isStandardTier } from './service-tiers.ts';
export { TableFile } from './table-file.ts';
