/** Whether there is too little processor time; null: unknown. */
type Pressure = () => boolean | null;

/**
 * Pressure of any of several kinds. A kind that is unknown says nothing: what the others see decides, and a rate that
 * has fallen rises again.
 * @returns null where each of them is unknown
 */
export function anyPressure(...kinds: readonly Pressure[]): Pressure {
  return () => {
    const seen = kinds.map((kind) => kind()).filter((pressure) => pressure !== null);
    return seen.length === 0 ? null : seen.includes(true);
  };
}
