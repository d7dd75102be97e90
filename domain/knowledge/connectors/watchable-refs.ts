/** Documents whose changes a source may be asked to report: a server may limit the body of a request to 100 kB. */
export const maxWatchedRefs = 1_000;
const maxBytes = 65_536;

/** The first of the references, within the bounds of one subscription. */
export function watchableRefs(refs: readonly string[]): string[] {
  let bytes = 0;
  return refs.slice(0, maxWatchedRefs).filter((ref) => (bytes += Buffer.byteLength(ref)) <= maxBytes);
}
