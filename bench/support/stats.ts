/** The value below which `share` (0 to 1) of the values lie. @throws without values */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error('There is nothing to take a percentile of.');
  return value;
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? percentile(sorted, 0.5) : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

export const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
