export { type ModelName, modelNames, readModelName } from './model-names.ts';
export { nearestListed } from './nearest-listed.ts';
export { OwnPrices } from './own-prices.ts';
export { type ListedPrice, PriceTable, SHIPPED_TABLE } from './price-table.ts';
export { isStandardTier } from './service-tiers.ts';
export { TableFile } from './table-file.ts';
