/** What names a turn of a response. */
export interface TurnKey {
  tenantId: string;
  responseId: string;
  /** From 0. */
  iteration: number;
}

/** What names a call that a turn asked for. */
export interface CallKey extends TurnKey {
  /** From 0, within its turn. */
  callIndex: number;
}
