/** Normalised discounted cumulative gain at 10 of one ranking, with documents either relevant or not. */
export function ndcg(ranking: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (places: readonly boolean[]) =>
    places.slice(0, 10).reduce((sum, hit, place) => sum + (hit ? 1 / Math.log2(place + 2) : 0), 0);
  return (
    gain(ranking.map((id) => relevant.has(id))) / gain(Array.from({ length: relevant.size }, () => true))
  );
}

/** Documents in the order of their best passages. */
export function rankDocuments(passages: readonly { documentId: string }[]): string[] {
  return [...new Set(passages.map(({ documentId }) => documentId))];
}
